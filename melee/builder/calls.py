"""The calls that give SQL to a database: to `app.db` anywhere in the app, to `resources.db` in a job, and to
`self.storage` in a durable class."""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from melee.builder.classes import AppClass
from melee.builder.literals import Literal, Literals
from melee.builder.names import Names
from melee.builder.source import Source, statements_of

_METHODS = {"query", "first", "run"}
_LEAVES_TABLES = re.compile(r"\s*(SELECT|INSERT|REPLACE|UPDATE|DELETE|WITH)\b", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class SqlCall:
    """A call of `query`, `first` or `run`; `sql` is None when only running the app could tell its text."""

    source: Source
    node: ast.Call
    sql: Literal | None

    @property
    def may_change_tables(self) -> bool:
        """Whether it is `run` with a text that cannot be known here and may be a change of the schema."""
        is_run = isinstance(self.node.func, ast.Attribute) and self.node.func.attr == "run"
        return is_run and not self.sql and not (self.node.args and _LEAVES_TABLES.match(_beginning(self.node.args[0])))

    @property
    def values_given(self) -> int | None:
        """How many values it gives for parameters; None when only running the app could tell."""
        values = self.node.args[1:]
        return None if any(isinstance(value, ast.Starred) for value in values) else len(values)

    @property
    def bracketed(self) -> ast.expr | None:
        """A tuple or a list that is given as a value, as other libraries take all values; None when there is none."""
        return next((value for value in self.node.args[1:] if isinstance(value, ast.Tuple | ast.List)), None)


def calls_on_app(sources: Sequence[Source], names: Names, literals: Literals) -> Iterator[SqlCall]:
    """Calls on the app's own database."""
    for source in sources:
        is_database = partial(names.is_app_database, source)
        for statement in source.tree.body:
            for node, sql in _calls(statement, is_database):
                yield SqlCall(source, node, literals.of(source, sql))


def calls_in_jobs(jobs: Sequence[AppClass], literals: Literals) -> Iterator[SqlCall]:
    """Calls on the app's own database as a job has it, `resources.db`, in `run`."""
    for cls in jobs:
        for method in _methods([cls]):
            parameters = [*method.node.args.posonlyargs, *method.node.args.args]
            if method.node.name == "run" and len(parameters) == 2:
                is_database = partial(_is_attribute, f"{parameters[1].arg}.db")
                for node, sql in _calls(method.node, is_database):
                    yield SqlCall(cls.source, node, literals.of(cls.source, sql))


def _is_attribute(dotted: str, expression: ast.expr) -> bool:
    return isinstance(expression, ast.Attribute) and ast.unparse(expression) == dotted


def calls_on_storage(cls: AppClass, literals: Literals) -> Iterator[SqlCall]:
    """Calls on the database of an object of this class, in its own methods and in those that it inherits."""
    line = (cls, *cls.ancestors)
    for method in _methods(line):
        for node, sql in _calls(method.node, lambda value: method.own(value) == "storage"):  # noqa: B023 - used at once
            attribute = method.own(sql)
            text = literals.of_class(line, attribute) if attribute else literals.of(method.source, sql)
            yield SqlCall(method.source, node, text)


@dataclass(frozen=True, eq=False)
class _Method:
    source: Source
    node: ast.FunctionDef | ast.AsyncFunctionDef

    def own(self, expression: ast.expr) -> str:
        """The attribute of the object that an expression names, `storage` in `self.storage`; empty when it is none."""
        arguments = [*self.node.args.posonlyargs, *self.node.args.args]
        match expression:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if arguments and name == arguments[0].arg:
                return attribute
        return ""


def _methods(line: Sequence[AppClass]) -> Iterator[_Method]:
    """What an object of the first class finds in it and in those after it; an overridden method is left out."""
    seen: set[str] = set()
    for cls in line:
        own = [
            statement
            for statement in statements_of(cls.node.body)
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        yield from (_Method(cls.source, method) for method in own if method.name not in seen)
        seen |= {method.name for method in own}


def _calls(scope: ast.AST, is_database: Callable[[ast.expr], bool]) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The calls on a database inside a function, say, each with the expression of its SQL."""
    nodes = list(ast.walk(scope))
    aliases = _aliases(nodes, is_database)
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=method), args=[sql, *_]) if method in _METHODS:
                if is_database(value) or (isinstance(value, ast.Name) and value.id in aliases):
                    yield node, sql


def _aliases(nodes: Sequence[ast.AST], is_database: Callable[[ast.expr], bool]) -> set[str]:
    """Names that are never anything but the database, such as after `storage = self.storage`."""
    bound: Counter[str] = Counter()
    meant: Counter[str] = Counter()
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                bound[name] += 1
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_database(value):
                meant[name] += 1
    return {name for name, times in meant.items() if times == bound[name]}


def _beginning(expression: ast.expr) -> str:
    """The part of a text that is written down and comes before all that is not."""
    match expression:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=[first, *_]) | ast.BinOp(left=first):
            return _beginning(first)
    return ""
