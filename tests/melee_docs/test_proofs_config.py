"""Configuration, read by what it is for."""

import pytest

from melee_docs.proofs import config
from melee_docs.proofs.verdict import NotProvenError
from tests.melee_docs.a_project import in_page

RULES = """\
groups:
  - name: jobs
    rules:
      - record: job:failures:rate5m
        expr: sum by (job) (rate(failures_total[5m]))
      - alert: JobFails
        expr: job:failures:rate5m > 0.1
        for: 10m
        labels: {severity: page}
        annotations: {summary: "{{ $labels.job }} fails"}
"""


@pytest.mark.parametrize(
    ("language", "text", "title", "evidence"),
    [
        ("toml", "[objects]\nidle_seconds = 5\n", "melee.toml", "read by melee"),
        ("toml", "[project]\nname = 'x'\n", "pyproject.toml", "read as TOML"),
        ("ini", "[Service]\nExecStart=melee server\n", "", "read as INI"),
        ("yaml", "on:\n  - push\n", "", "read as YAML"),
        ("json", '{"a": 1}\n', "", "read as JSON"),
        ("yaml", RULES, "jobs.rules.yml", "read as Prometheus rules, PromQL included"),
    ],
)
def test_a_block_that_its_program_reads_is_proven(language: str, text: str, title: str, evidence: str) -> None:
    assert config.prove(in_page(language, text, title=title)) == (evidence,)


@pytest.mark.parametrize(
    ("language", "text", "title"),
    [
        ("toml", "[objects]\nidel_seconds = 5\n", "melee.toml"),
        ("toml", "[project\n", ""),
        ("ini", "no section = 1\n", ""),
        ("yaml", "a: [1\n", ""),
        ("json", "{a: 1}\n", ""),
    ],
)
def test_a_block_that_its_program_cannot_read_is_refused(language: str, text: str, title: str) -> None:
    with pytest.raises(NotProvenError, match=r"; correct the block$"):
        config.prove(in_page(language, text, title=title))


@pytest.mark.parametrize(
    ("right", "wrong", "reason"),
    [
        ("groups:", "group:", "unknown field `group`"),
        ("expr: sum", "exp: sum", "unknown field `exp`"),
        ("record: job:failures:rate5m", "alert: ''", "length >= 1"),
        ("alert: JobFails", "record: a", "a records; `for`, `keep_firing_for` and `annotations` are for alerts"),
        ("alert: JobFails\n        ", "", "needs either `record` or `alert`"),
        ("for: 10m", "for: 10", "Expected `str"),
        ("for: 10m", "for: ten minutes", "matching regex"),
        ("severity", "se-verity", "matching regex"),
        ("[5m]", "", "expected type matrix in call to function 'rate', got vector"),
        ("rate(", "rat(", "unknown function with name 'rat'"),
        ("by (job)", "by job", "job:failures:rate5m: "),
        ("groups:\n", "groups:\n  - {name: jobs, rules: []}\n", "two groups have one name in ['jobs', 'jobs']"),
    ],
)
def test_a_mistake_in_rules_for_prometheus_is_named(right: str, wrong: str, reason: str) -> None:
    assert right in RULES
    block = in_page("yaml", RULES.replace(right, wrong, 1), title="jobs.rules.yml")
    with pytest.raises(NotProvenError) as caught:
        config.prove(block)
    assert reason in str(caught.value)
