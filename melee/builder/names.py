"""What names stand for across the modules of an app: through re-exports and aliases, down to where they are defined."""

import ast
import builtins
from collections.abc import Iterable

from melee.builder.source import Source, name_set_by, root_of, statements_of

_APP_DATABASES = {"app.app.db", "flask.current_app.db"}


class Names:
    """The names of an app's modules.

    `defined` holds each class, function and assignment at the top of a module by its full name; the last of its name.
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = {source.module: source for source in sources}
        self.defined = {
            f"{source.module}.{name}": (source, statement)
            for source in self._sources.values()
            for statement in statements_of(source.tree.body)
            if (name := name_set_by(statement))
        }

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
        return self.full(source, expression) in _APP_DATABASES

    def is_of_the_app(self, name: str) -> bool:
        """Whether a full name belongs to a module or a folder of the app itself."""
        top = name.partition(".")[0]
        return any(module.partition(".")[0] == top for module in self._sources)

    def _from_star(self, source: Source, expression: ast.expr) -> str:
        """What a name refers to that `from module import *` may have brought from another module of the app."""
        root = root_of(expression)
        if isinstance(root, ast.Name) and root.id not in source.names:
            for module in source.star_imports:
                if module in self._sources and root.id in self._sources[module].names:
                    return f"{module}.{ast.unparse(expression)}"
        return ""

    def _followed(self, name: str) -> str:
        seen = set()
        while name not in seen:
            seen.add(name)
            name = self._next(name)
        return name

    def _next(self, name: str) -> str:
        """One step nearer to the definition; the same name when there is none."""
        parts = name.split(".")
        # The longest name of a module first: `lib.stats.Stats` is `Stats` of `lib.stats`, not `stats` of `lib`.
        for length in range(len(parts) - 1, 0, -1):
            source = self._sources.get(".".join(parts[:length]))
            if source and parts[length] in source.names:
                return ".".join([source.names[parts[length]], *parts[length + 1 :]])
        return name
