"""The two lines by which an app knows a class of jobs, put into its app.py where they belong."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from melee.builder.source import Source, name_set_by, statements_of

_APPS = {"melee.App", "melee.web.app.App"}


@dataclass(frozen=True)
class Registration:
    """That of the class `name` in the module `module` of the app."""

    module: str
    name: str

    @property
    def lines(self) -> tuple[str, str]:
        """The import, and what comes after `app = App(__name__)`."""
        return f"from {self.module} import {self.name}", f"app.jobs.register({self.name})"

    def put_into(self, source: Source) -> str | None:
        """The text of app.py with these lines, as far as it does not have them; None when somebody has to look where
        they belong."""
        made = [statement for statement in statements_of(source.tree.body) if name_set_by(statement) == "app"]
        if len(made) != 1 or made[0] not in source.tree.body or not _makes_app(source, made[0]):
            return None
        has_import = source.names.get(self.name) == f"{self.module}.{self.name}"
        if not has_import and (self.name in source.names or self.name in source.bound):
            return None
        at = source.tree.body.index(made[0])
        text: str | None = source.text
        # From the end, so that the lines before stay where they are.
        if text and not self._is_registered(source):
            text = _with_line(text, source.tree.body, _last_registration(source.tree.body, at), self.lines[1])
        if text and not has_import:
            text = self._with_import(text, source.tree.body[:at])
        return text

    def _is_registered(self, source: Source) -> bool:
        return any(isinstance(node, ast.Call) and ast.unparse(node) == self.lines[1] for node in source.nodes)

    def _with_import(self, text: str, body: Sequence[ast.stmt]) -> str | None:
        """The text with the import among those of the app's own modules, in the order of their names."""
        imports = [index for index, statement in enumerate(body) if isinstance(statement, ast.Import | ast.ImportFrom)]
        own = [index for index in imports if _is_own(body[index])]
        before = [index for index in own if _module(body[index]).lower() <= self.module.lower()]
        if before:
            return _with_line(text, body, before[-1], self.lines[0])
        if own:
            lines = text.split("\n")
            lines.insert(_first_line(lines, body[own[0]]), self.lines[0])
            return "\n".join(lines)
        return _with_line(text, body, imports[-1], f"\n{self.lines[0]}") if imports else None


def _with_line(text: str, body: Sequence[ast.stmt], index: int, line: str) -> str | None:
    """The text with a line after a statement; None when another one stands on its last line."""
    end = body[index].end_lineno or 0
    if any(statement.lineno == end for statement in body[index + 1 :]):
        return None
    lines = text.split("\n")
    lines.insert(end, line)
    return "\n".join(lines)


def _makes_app(source: Source, statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(value=ast.Call(func=function)) | ast.AnnAssign(value=ast.Call(func=function)):
            return source.dotted(function) in _APPS
    return False


def _last_registration(body: Sequence[ast.stmt], at: int) -> int:
    """The last of the registrations that follow a statement, or the statement itself."""
    while at + 1 < len(body) and ast.unparse(body[at + 1]).startswith("app.jobs.register("):
        at += 1
    return at


def _is_own(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and _module(statement).partition(".")[0] in {"jobs", "lib"}


def _module(statement: ast.stmt) -> str:
    return (statement.module or "") if isinstance(statement, ast.ImportFrom) else ""


def _first_line(lines: Sequence[str], statement: ast.stmt) -> int:
    """Where a statement begins, with the comments right above it."""
    first = statement.lineno - 1
    while first and lines[first - 1].startswith("#"):
        first -= 1
    return first
