"""Annotations of an app, read from its syntax trees: what Python would make of them, and what in them cannot cross."""

import ast
import importlib
import inspect
from collections.abc import Iterator
from typing import Any

from melee import shape
from melee.builder.names import KNOWN_MODULES, Names
from melee.builder.source import Located, Source

_UNSHAPED = {
    **{f"builtins.{name}": name for name in ("bytearray", "bytes", "frozenset", "set", "tuple")},
    **{f"datetime.{name}": name for name in ("date", "datetime", "time", "timedelta")},
    **{f"pathlib.{name}": "Path" for name in ("Path", "PosixPath", "PurePath", "PurePosixPath")},
    **{f"typing.{name}": name.lower() for name in ("FrozenSet", "Set", "Tuple")},
    "decimal.Decimal": "Decimal",
    "typing.ByteString": "bytes",
    "uuid.UUID": "UUID",
}
"""What may not cross, by its full name, and how `melee.shape` calls it."""

_UNSHAPED_OTHERS = {
    **dict.fromkeys(["builtins.complex"], "pass its parts in a list"),
    **dict.fromkeys(["builtins.memoryview"], "pass text, or base64 of it"),
    **dict.fromkeys(["builtins.range", "collections.deque", "typing.Deque"], "pass a list"),
    **dict.fromkeys(["collections.Counter", "collections.OrderedDict", "collections.defaultdict"], "pass a plain dict"),
    **dict.fromkeys(["collections.abc.Callable", "typing.Callable"], "pass a text that says what to do"),
    **dict.fromkeys(["builtins.type", "typing.Type"], "pass its name"),
    **dict.fromkeys(["fractions.Fraction"], "pass str(value)"),
    **dict.fromkeys(["zoneinfo.ZoneInfo", "datetime.tzinfo", "datetime.timezone"], "pass the name of the zone"),
}
_DICTS = {"builtins.dict", "typing.Dict"}
_WITH_SHAPED_PARTS = {
    *_DICTS,
    "builtins.list",
    *(f"typing.{name}" for name in ("Final", "List", "NotRequired", "Optional", "Required", "Union")),
    *(
        f"{module}.{name}"
        for module in ("collections.abc", "typing")
        for name in ("Collection", "Iterable", "Mapping", "MutableMapping", "MutableSequence", "Sequence")
    ),
}


class Annotations:
    """What annotations mean in the modules of an app."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._stand_ins: dict[str, type] = {}
        self._under_way: set[str] = set()

    def value(self, source: Source, annotation: ast.expr | None) -> Any:
        """What `inspect` has as the annotation when the app is imported; its text when that cannot be known."""
        if annotation is None:
            return inspect.Parameter.empty
        if source.names.get("annotations") == "__future__.annotations":
            return ast.unparse(annotation)
        try:
            return self._evaluated(source, annotation)
        except (_Unknown, TypeError, AttributeError, RecursionError):
            return ast.unparse(annotation)

    def unshaped(self, source: Source, annotation: ast.expr) -> Iterator[tuple[Located, str]]:
        """What in an annotation is not JSON-shaped: the place in it, and the problem. What is unknown is taken for
        good."""
        match annotation:
            case ast.Constant(value=str(text)):
                for _place, problem in self._unshaped_in_text(source, text):
                    yield annotation, problem
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                yield from self.unshaped(source, left)
                yield from self.unshaped(source, right)
            case ast.Subscript(value=head, slice=inside):
                heads = list(self.unshaped(source, head))
                yield from heads or self._unshaped_parts(source, self._names.full_or_builtin(source, head), inside)
            case ast.Name() | ast.Attribute():
                name = self._names.full_or_builtin(source, annotation)
                if problem := self._problem(name) or self._problem_of_alias(name):
                    yield annotation, problem

    def _unshaped_in_text(self, source: Source, text: str) -> Iterator[tuple[Located, str]]:
        try:
            inside = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError):
            return
        yield from self.unshaped(source, inside)

    def _unshaped_parts(self, source: Source, head: str, inside: ast.expr) -> Iterator[tuple[Located, str]]:
        parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
        if head == "typing.Annotated":
            yield from self.unshaped(source, parts[0])
        elif head in _WITH_SHAPED_PARTS:
            if head in _DICTS and self._names.full_or_builtin(source, parts[0]) in (
                "builtins.int",
                "builtins.float",
                "builtins.bool",
            ):
                yield parts[0], f"a key of type {ast.unparse(parts[0])} is not JSON-shaped; keys are str"
            for part in parts:
                yield from self.unshaped(source, part)

    def _problem(self, name: str) -> str:
        instead = shape.INSTEAD[_UNSHAPED[name]] if name in _UNSHAPED else _UNSHAPED_OTHERS.get(name, "")
        if isinstance(self._statement(name), ast.ClassDef):
            instead = _instead_of(self._lineage(name))
        return f"{name.rpartition('.')[2]} is not JSON-shaped; {instead}" if instead else ""

    def _problem_of_alias(self, name: str) -> str:
        match self._names.defined.get(name):
            case source, (ast.Assign(value=ast.expr() as value) | ast.AnnAssign(value=ast.expr() as value)) if (
                name not in self._under_way
            ):
                self._under_way.add(name)
                problems = [problem for _place, problem in self.unshaped(source, value)]
                self._under_way.remove(name)
                return problems[0] if problems else ""
        return ""

    def _statement(self, name: str) -> ast.stmt | None:
        return self._names.defined[name][1] if name in self._names.defined else None

    def _lineage(self, name: str) -> set[str]:
        """The full names of a class of the app and all that it is derived from."""
        found, waiting = set(), [name]
        while waiting:
            name = waiting.pop()
            match self._names.defined.get(name):
                case source, ast.ClassDef(bases=bases) if name not in found:
                    waiting += [self._names.full_or_builtin(source, _without_brackets(base)) for base in bases]
            found.add(name)
        return found

    def _evaluated(self, source: Source, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
                return -value
            case ast.List(elts=parts):
                return [self._evaluated(source, part) for part in parts]
            case ast.Tuple(elts=parts):
                return tuple(self._evaluated(source, part) for part in parts)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self._evaluated(source, left) | self._evaluated(source, right)
            case ast.Subscript(value=head, slice=inside):
                return self._evaluated(source, head)[self._evaluated(source, inside)]
            case ast.Name() | ast.Attribute():
                return self._named(self._names.full_or_builtin(source, node))
        raise _Unknown

    def _named(self, name: str) -> Any:
        match self._names.defined.get(name):
            case source, ast.ClassDef():
                attributes = {"__module__": source.module}
                return self._stand_ins.setdefault(name, type(name.rpartition(".")[2], (), attributes))
            case source, (ast.Assign(value=ast.expr() as value) | ast.AnnAssign(value=ast.expr() as value)):
                return self._evaluated(source, value)
        module, _, last = name.rpartition(".")
        if module == "builtins" or module in KNOWN_MODULES:
            return getattr(importlib.import_module(module), last)
        raise _Unknown


class _Unknown(Exception):
    """It cannot be known without running the app."""


def _instead_of(lineage: set[str]) -> str:
    """What to pass in place of an instance of a class; empty when it is a plain dict, or may be anything."""
    if lineage & {"typing.TypedDict", "typing.Protocol"}:
        return ""
    if lineage & {"melee.Durable"}:
        return "pass its id"
    if any(name.startswith("enum.") for name in lineage):
        return "pass its value"
    return "pass what is in it as a dict"


def _without_brackets(base: ast.expr) -> ast.expr:
    return base.value if isinstance(base, ast.Subscript) else base
