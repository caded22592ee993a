"""A module of an app, read and not run: its text, its syntax tree, and what its names stand for."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

_SCOPES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
Located = ast.expr | ast.stmt | ast.arg | ast.keyword | ast.alias | ast.excepthandler


class Finding(NamedTuple):
    """One mistake. `file` is relative to the app's folder, line and column count from 1; findings sort by place."""

    file: str
    line: int
    column: int
    problem: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.problem}"


@dataclass(frozen=True, eq=False)
class Source:
    """A module of the app. `file` is relative to the app's folder, with `/`; `text` has `\\n` at the end of lines.

    One that could not be read is empty, and `is_read` is False: it may hold anything.
    """

    file: str
    text: str
    tree: ast.Module
    is_read: bool = True

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree. Many look through them, and a walk takes its time."""
        return list(ast.walk(self.tree))

    @cached_property
    def module(self) -> str:
        """Its dotted name: `lib.stats` for `lib/stats.py`, `lib` for `lib/__init__.py`."""
        parts = Path(self.file).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def dotted(self, expression: ast.expr) -> str:
        """The full name that an expression refers to, such as `threading.Thread` for `t.Thread` after `import threading
        as t`; empty when it is unknown.

        What this module itself defines is known by the module's name: `lib.stats.Stats`. A parameter or a variable of
        a function is unknown, even if an import has the same name.
        """
        return "" if root_of(expression) in self._shadowed else _dotted(self.names, expression)

    def finding(self, node: Located, problem: str) -> Finding:
        """A finding at the place where a node of this module begins."""
        # The tree counts columns in bytes of UTF-8.
        before = self._lines[node.lineno - 1].encode()[: node.col_offset]
        return Finding(self.file, node.lineno, len(before.decode(errors="replace")) + 1, problem)

    @cached_property
    def names(self) -> dict[str, str]:
        """What each name of the module refers to: imports, aliases such as `db = app.db`, and its own definitions."""
        top = list(statements_of(self.tree.body))
        found = self._imported(self.nodes)
        aliases: dict[str, ast.expr] = {}
        for statement in top:
            if name := name_set_by(statement):
                found[name] = f"{self.module}.{name}"
                if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value:
                    aliases[name] = statement.value
        for name, value in aliases.items():
            found[name] = _dotted(found, value) or found[name]
        # Last, because of `except ImportError: queue = None`.
        return found | self._imported(top)

    @cached_property
    def star_imports(self) -> list[str]:
        """The modules of which this one imports everything."""
        imports = [node for node in self.nodes if isinstance(node, ast.ImportFrom)]
        return [self.imported_module(node) for node in imports if node.names[0].name == "*"]

    @cached_property
    def imports(self) -> list[tuple[Located, str]]:
        """The modules that are imported anywhere in this one, each with its place."""
        found: list[tuple[Located, str]] = []
        for node in self.nodes:
            match node:
                case ast.Import(names=aliases):
                    found += [(alias, alias.name) for alias in aliases]
                case ast.ImportFrom():
                    found.append((node, self.imported_module(node)))
                case ast.Call() if name := _imported_by_call(self.names, node):
                    found.append((node, name))
        return found

    @cached_property
    def bound(self) -> set[str]:
        """The names that anything in this module binds, other than imports."""
        return {name for node in self.nodes if (name := _bound_by(node))}

    def imported_module(self, node: ast.ImportFrom) -> str:
        """The absolute name of the module that a `from … import` imports from."""
        if not node.level:
            return node.module or ""
        parts = self.module.split(".")
        is_package = Path(self.file).name == "__init__.py"
        kept = parts[: max(0, len(parts) - node.level + is_package)]
        return ".".join([*kept, *filter(None, [node.module])])

    def _imported(self, nodes: Iterable[ast.AST]) -> dict[str, str]:
        found = {}
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    # `import a.b` binds `a`, `import a.b as c` binds `c` to `a.b`.
                    top = alias.name.partition(".")[0]
                    found[alias.asname or top] = alias.name if alias.asname else top
            elif isinstance(node, ast.ImportFrom):
                base = self.imported_module(node)
                names = [alias for alias in node.names if alias.name != "*"]
                found |= {alias.asname or alias.name: f"{base}.{alias.name}".lstrip(".") for alias in names}
        return found

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def _shadowed(self) -> set[ast.AST]:
        """Uses of names that a function, or a comprehension around them binds itself."""
        shadowed: set[ast.AST] = set()
        for scope in self.nodes:
            if isinstance(scope, _SCOPES):
                own = list(own_nodes(scope))
                outer = {name for node in own if isinstance(node, ast.Global) for name in node.names}
                bound = {node.arg for node in own if isinstance(node, ast.arg)}
                bound |= {node.id for node in own if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
                bound -= outer
                if bound:
                    shadowed |= {n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id in bound}
        return shadowed


def statements_of(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module or class, with those inside `if`, `try`, `with` and loops."""
    for statement in body:
        yield statement
        if not isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for name in ("body", "handlers", "orelse", "finalbody", "cases"):
                for inner in getattr(statement, name, []):
                    yield from statements_of(inner.body) if not isinstance(inner, ast.stmt) else statements_of([inner])


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """What is in a function, say, without what is in the functions, classes and comprehensions inside it."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (*_SCOPES, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)


def name_set_by(statement: ast.stmt) -> str:
    """The one name that a class, a function or an assignment defines; empty for anything else."""
    match statement:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return name
    return ""


def _dotted(names: dict[str, str], expression: ast.expr) -> str:
    attributes: list[str] = []
    while isinstance(expression, ast.Attribute):
        attributes.insert(0, expression.attr)
        expression = expression.value
    owner = ""
    match expression:
        case ast.Name(id=name):
            owner = names.get(name, "")
        case ast.Call():
            owner = _imported_by_call(names, expression)
    return ".".join([owner, *attributes]) if owner else ""


def _imported_by_call(names: dict[str, str], call: ast.Call) -> str:
    """The module that `importlib.import_module("queue")` or `__import__("queue")` returns; empty for other calls."""
    match call:
        case ast.Call(func=ast.Name("__import__"), args=[ast.Constant(value=str(module))]):
            # With a dot in its name it is the package around it.
            return module.partition(".")[0]
        case ast.Call(
            func=ast.Name() | ast.Attribute(value=ast.Name()) as function, args=[ast.Constant(value=str(module))]
        ) if _dotted(names, function) == "importlib.import_module":
            return module
    return ""


def _bound_by(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            return name
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name
    return ""


def root_of(expression: ast.expr) -> ast.expr:
    """The leftmost name of `a.b.c`."""
    while isinstance(expression, ast.Attribute):
        expression = expression.value
    return expression
