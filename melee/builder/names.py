"""What names stand for across the modules of an app: through re-exports and aliases, down to where they are defined."""

import ast
import builtins
import importlib
from collections.abc import Iterable

from melee.builder.source import Source, name_set_by, root_of, statements_of

KNOWN_MODULES = {
    *("asyncio", "collections", "collections.abc", "concurrent.futures", "datetime", "decimal", "enum", "fractions"),
    *("melee", "multiprocessing", "os", "pathlib", "queue", "threading", "typing", "types", "uuid", "zoneinfo"),
}
"""Modules that are imported to see what a name in them is."""


class Names:
    """The names of an app's modules.

    `defined` holds each class, function and assignment at the top of a module by its full name; the last of its name.
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = {source.module: source for source in sources}
        self._tops = {module.partition(".")[0] for module in self._sources}
        self.defined = {
            f"{source.module}.{name}": (source, statement)
            for source in self._sources.values()
            for statement in statements_of(source.tree.body)
            if (name := name_set_by(statement))
        }
        # Some module that `app.py` imports may have made the app.
        self._app_databases = {f"{self._followed('app.app')}.db", "flask.current_app.db"}

    def full(self, source: Source, expression: ast.expr) -> str:
        """The full name of what an expression in a module refers to, where it is defined: `lib.stats.Stats` for `Stats`
        after `from lib import Stats`, when `lib/__init__.py` has it from `lib/stats.py`. Empty when it is unknown."""
        return self._followed(source.dotted(expression) or self._from_star(source, expression))

    def full_or_builtin(self, source: Source, expression: ast.expr) -> str:
        """The same; `builtins.list` for a name that is Python's own, and `typing` for `typing_extensions`."""
        name = self.full(source, expression)
        if not name and isinstance(expression, ast.Name) and hasattr(builtins, expression.id):
            return f"builtins.{expression.id}"
        return name.replace("typing_extensions.", "typing.")

    def is_app_database(self, source: Source, expression: ast.expr) -> bool:
        """Whether an expression is `app.db`, of the app in `app.py`, under whatever name."""
        return self.full(source, expression) in self._app_databases

    def is_of_the_app(self, name: str) -> bool:
        """Whether a full name belongs to a module or a folder of the app itself."""
        return name.partition(".")[0] in self._tops

    def _from_star(self, source: Source, expression: ast.expr) -> str:
        """What a name refers to that `from module import *` has brought; empty when none has."""
        root = root_of(expression)
        if not source.star_imports or not isinstance(root, ast.Name) or root.id in source.bound:
            return ""
        return f"{source.module}.{ast.unparse(expression)}" if self._handed_on(source.module, root.id) else ""

    def _followed(self, name: str) -> str:
        """The name at its definition. Modules may hand names on in a circle; then it is one of those in it."""
        passed: set[tuple[str, str]] = set()
        while (step := self._step(name)) and step not in passed:
            passed.add(step)
            name = self._handed_on(*step) + name[len(".".join(step)) :]
        return name

    def _step(self, name: str) -> tuple[str, str] | None:
        """The module of the app that a full name begins with, and the name in there."""
        parts = name.split(".")
        # The longest name of a module first: `lib.stats.Stats` is `Stats` of `lib.stats`, not `stats` of `lib`.
        for length in range(len(parts) - 1, 0, -1):
            module = ".".join(parts[:length])
            if module in self._sources and self._handed_on(module, parts[length]):
                return module, parts[length]
        return None

    def _handed_on(self, module: str, name: str) -> str:
        """What a name in a module refers to; empty when the module has no such name."""
        waiting, looked_at = [module], list[str]()
        while waiting:
            if (other := waiting.pop()) not in looked_at:
                looked_at.append(other)
                if source := self._sources.get(other):
                    if name in source.names:
                        return source.names[name]
                    waiting += source.star_imports
        outside = [other for other in looked_at if other not in self._sources]
        # Of a module that is not known, any name may come.
        outside.sort(key=lambda other: other not in KNOWN_MODULES)
        return next((f"{other}.{name}" for other in outside if _brings(other, name)), "")


def _brings(module: str, name: str) -> bool:
    """Whether `from module import *` may bring a name."""
    if module not in KNOWN_MODULES:
        return not name.startswith("_") and not hasattr(builtins, name)
    known = importlib.import_module(module)
    return name in getattr(known, "__all__", [each for each in vars(known) if not each.startswith("_")])
