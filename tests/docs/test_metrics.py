"""What the page about metrics names is what a server shows."""

import re
from pathlib import Path
from typing import Any

import promql_parser
from prometheus_client.parser import text_string_to_metric_families

from melee.jobs.counts import Counts
from melee.jobs.metrics import Metrics
from melee.project import read_config
from melee_docs.proofs.rules import read_rules

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guide" / "metrics.md").read_text(encoding="utf-8")
SNIPPETS = ROOT / "snippets" / "metrics"
RULES = read_rules((SNIPPETS / "jobs.rules.yml").read_text(encoding="utf-8")).groups[0].rules


def shown(counts: Counts) -> dict[str, float]:
    """The series that a server shows of a job, but for the buckets."""
    metrics = Metrics()
    metrics.know(["mail"])
    metrics.add({"mail": counts})
    families = text_string_to_metric_families(metrics.page({"mail": 7}).decode())
    samples = [sample for family in families for sample in family.samples if "le" not in sample.labels]
    assert {sample.labels["job"] for sample in samples} == {"mail"}
    return {sample.name: sample.value for sample in samples}


def selected(expression: str) -> set[str]:
    """The series that an expression asks for."""
    found: set[str] = set()

    def note(node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.add(str(node.name))

    promql_parser.walk(promql_parser.parse(expression), pre_visit=note)
    return found


def test_the_table_names_each_series_and_no_other() -> None:
    named = re.findall(r"^\| `(jobs_\w+)` \|", PAGE, re.MULTILINE)
    assert sorted(named) == sorted({name.removesuffix("_count").removesuffix("_sum") for name in shown(Counts())})


def test_the_alerts_ask_for_series_that_there_are() -> None:
    asked = {name for rule in RULES for name in selected(rule.expr)}
    assert asked == {"jobs_dead_total", "jobs_failed_total", "jobs_started_total"}
    assert asked < set(shown(Counts()))


def test_the_alerts_add_the_servers_up_for_each_job() -> None:
    for rule in RULES:
        assert len(selected(rule.expr)) == rule.expr.count("sum by (job) ("), rule.expr


def test_the_setting_is_one_of_melee_and_off_without_it() -> None:
    assert read_config((SNIPPETS / "melee.toml").read_text(encoding="utf-8")).server.metrics
    assert not read_config("").server.metrics


def test_the_sentences_on_the_alerts_have_their_numbers() -> None:
    [dead, often] = RULES
    assert ("[1h]" in dead.expr, "It stays on for an hour." in PAGE) == (True, True)
    assert (often.lasts, often.expr.rstrip()[-5:]) == ("10m", "> 0.1")
    assert "If one in ten tries fails for ten minutes" in PAGE
