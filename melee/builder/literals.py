"""Texts that are written in the modules of an app, and where each of their characters stands."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from melee.builder.classes import AppClass
from melee.builder.names import Names
from melee.builder.source import Finding, Source, statements_of
from melee.store.migrations import place

# One of the strings that Python joins when they stand side by side, and what may stand between two.
_PIECE = re.compile(r"""(?s)(?P<prefix>[a-zA-Z]*)(?P<quote>'{3}|"{3}|'|")(?P<body>(?:\\.|[^\\])*?)(?P=quote)""")
_BETWEEN = re.compile(r"(?:\s|\\\n|#[^\n]*)*")
_ESCAPE = r"\\(?:\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|[\\'\"abfnrtv])"


@dataclass(frozen=True, eq=False)
class Literal:
    """A text that is written in a module, in one piece or in several side by side."""

    source: Source
    node: ast.expr
    text: str

    def finding(self, index: int, problem: str) -> Finding:
        """A finding at a character of the text."""
        begin = self.source.finding(self.node, problem)
        lines = self.source.text.split("\n")
        start = sum(len(line) + 1 for line in lines[: begin.line - 1]) + begin.column - 1
        at = next(islice(_places(self.source.text, start), index, None), start)
        return Finding(begin.file, *place(self.source.text, at), problem)


class Literals:
    """The texts of an app: those in the place where they are used, and those that a module or a class names, once."""

    def __init__(self, sources: Sequence[Source], names: Names) -> None:
        self._names = names
        self._named = {name: text for source in sources for name, text in _named(source)}

    def of(self, source: Source, expression: ast.expr) -> Literal | None:
        """The text that an expression in a module stands for; None when only running the app could tell."""
        return _written(source, expression) or self._named.get(self._names.full(source, expression))

    def of_class(self, line: Iterable[AppClass], attribute: str) -> Literal | None:
        """The text of a class attribute; `line` is the class and its ancestors, nearest first."""
        keys = (f"{cls.source.module}.{cls.name}.{attribute}" for cls in line)
        return next((self._named[key] for key in keys if key in self._named), None)


def _named(source: Source) -> Iterator[tuple[str, Literal | None]]:
    """Full names of what a module and its classes assign; with None when it is no text or not the only assignment."""
    set_from_elsewhere = Counter(
        node.attr for node in source.nodes if isinstance(node, ast.Attribute) and _is_set(node)
    )
    classes = [statement for statement in statements_of(source.tree.body) if isinstance(statement, ast.ClassDef)]
    owners = [
        (source.module, source.tree.body, source.nodes),
        *((f"{source.module}.{node.name}", node.body, list(ast.walk(node))) for node in classes),
    ]
    for owner, body, nodes in owners:
        times = set_from_elsewhere + Counter(node.id for node in nodes if isinstance(node, ast.Name) and _is_set(node))
        for statement in statements_of(body):
            match statement:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ):
                    yield f"{owner}.{name}", _written(source, value) if times[name] == 1 else None


def _is_set(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store)


def _written(source: Source, expression: ast.expr) -> Literal | None:
    match expression:
        case ast.Constant(value=str(text)):
            return _literal(source, expression, text)
        case ast.JoinedStr(values=parts):
            texts = [str(part.value) for part in parts if isinstance(part, ast.Constant)]
            return _literal(source, expression, "".join(texts)) if len(texts) == len(parts) else None
    return None


def _literal(source: Source, node: ast.expr, text: str) -> Literal | None:
    # What SQLite cannot be given: NUL, and the halves of a pair that are no characters.
    return None if re.search("[\0\ud800-\udfff]", text) else Literal(source, node, text)


def _places(text: str, start: int) -> Iterator[int]:
    """Where each character of the literal that begins at `start` stands in the text of a module."""
    while piece := _PIECE.match(text, start):
        for character in _character(piece["prefix"].lower()).finditer(text, piece.start("body"), piece.end("body")):
            if character[0] != "\\\n":
                yield character.start()
        between = _BETWEEN.match(text, piece.end())
        start = between.end() if between else piece.end()


def _character(prefix: str) -> re.Pattern[str]:
    """What stands for one character in a string with this prefix; a backslash at the end of a line stands for none."""
    units = [_ESCAPE] if "r" not in prefix else []
    units += [r"\{\{|\}\}"] if "f" in prefix else []
    return re.compile("|".join([*units, "."]), re.DOTALL)
