"""A file of Prometheus rules: its shape is the one of the documentation, and its expressions are read by a parser of
PromQL that knows the types of functions. It takes what `promtool check rules` takes."""

from typing import Annotated

import msgspec
import promql_parser

_NAME = r"^[a-zA-Z_][a-zA-Z0-9_]*$"

Label = Annotated[str, msgspec.Meta(pattern=_NAME)]
Duration = Annotated[str, msgspec.Meta(pattern=r"^(\d+(ms|[smhdwy]))+$")]


class Rule(msgspec.Struct, forbid_unknown_fields=True, rename={"lasts": "for"}):
    """Either `record` or `alert` is its name."""

    expr: str
    record: Annotated[str, msgspec.Meta(pattern=r"^[a-zA-Z_:][a-zA-Z0-9_:]*$")] | None = None
    alert: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    lasts: Duration | None = None
    keep_firing_for: Duration | None = None
    labels: dict[Label, str] = {}
    annotations: dict[Label, str] = {}


class Group(msgspec.Struct, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(min_length=1)]
    rules: list[Rule]
    interval: Duration | None = None
    query_offset: Duration | None = None
    limit: Annotated[int, msgspec.Meta(ge=0)] = 0
    labels: dict[Label, str] = {}


class RuleFile(msgspec.Struct, forbid_unknown_fields=True):
    groups: list[Group]


def read_rules(text: str) -> RuleFile:
    """The rules in a text of YAML; a `ValueError` says what is wrong."""
    try:
        file = msgspec.yaml.decode(text, type=RuleFile)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error
    names = [group.name for group in file.groups]
    if len(set(names)) < len(names):
        raise ValueError(f"two groups have one name in {names}")
    for rule in (rule for group in file.groups for rule in group.rules):
        _check(rule)
    return file


def _check(rule: Rule) -> None:
    if (rule.record is None) == (rule.alert is None):
        raise ValueError(f"the rule with `{rule.expr}` needs either `record` or `alert`")
    if rule.record and (rule.lasts or rule.keep_firing_for or rule.annotations):
        raise ValueError(f"{rule.record} records; `for`, `keep_firing_for` and `annotations` are for alerts")
    try:
        promql_parser.parse(rule.expr)
    except ValueError as error:
        raise ValueError(f"{rule.alert or rule.record}: {error}") from error
