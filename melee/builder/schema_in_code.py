"""Tables that the code of an app makes when it runs, beside those of its migrations."""

import ast
import re
from collections.abc import Iterable, Sequence

from melee.builder.calls import SqlCall
from melee.builder.source import Source
from melee.errors import DatabaseError
from melee.store.connection import Connection
from melee.store.migrations import statements

_COMMENTS = r"(?is)(?:\s|--[^\n]*\n|/\*.*?\*/)*+"
_CREATES = re.compile(rf"{_COMMENTS}CREATE\b")
_ALTERS = re.compile(rf"{_COMMENTS}ALTER\b")
_LIKELY_SCHEMA = re.compile(rf"{_COMMENTS}(?:CREATE|ALTER)\s+(?:\w+\s+)?(?:TABLE|VIEW|INDEX|TRIGGER)\b")


def texts_of(calls: Iterable[SqlCall]) -> list[str]:
    """The statements in the calls whose text is known."""
    return [text for call in calls if call.sql for _index, text in statements(call.sql.text)]


def creating(calls: Iterable[SqlCall]) -> list[str]:
    """The statements in the calls that create something."""
    return [text for text in dict.fromkeys(texts_of(calls)) if _CREATES.match(text)]


def make_tables(connection: Connection, calls: Iterable[SqlCall]) -> set[str]:
    """Runs what creates something, in whatever order works; returns the statements that are right."""
    waiting, made = creating(calls), set[str]()
    while ran := {text for text in waiting if _runs(connection, text)}:
        made |= ran
        waiting = [text for text in waiting if text not in ran]
    return made


def are_tables_hidden(calls: Sequence[SqlCall]) -> bool:
    """Whether the calls may change tables in a way that only running the app would show."""
    return any(call.may_change_tables for call in calls) or any(_ALTERS.match(text) for text in texts_of(calls))


def has_schema_elsewhere(sources: Iterable[Source], calls: Iterable[SqlCall]) -> bool:
    """Whether the code has a text that looks like a part of a schema, and no call gives it to a database."""
    given = {node for call in calls if call.sql for node in ast.walk(call.sql.node)}
    return any(
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node not in given
        and _LIKELY_SCHEMA.match(node.value)
        for source in sources
        for node in source.nodes
    )


def _runs(connection: Connection, text: str) -> bool:
    try:
        connection.execute(text, ())
    except DatabaseError as error:
        # Two methods may make the same table.
        return error.problem.endswith("already exists")
    return True
