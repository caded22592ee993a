"""What an import of `app.py` brings: the app, and the modules whose classes are those that the app has."""

import ast
import symtable
from collections.abc import Iterator, Sequence

from melee.builder.source import Finding, Source, statements_of


def findings(sources: Sequence[Source]) -> list[Finding]:
    """That `app.py` defines no `app`."""
    [app] = [source for source in sources if source.file == "app.py"]
    if not app.is_read or app.star_imports or _binds(symtable.symtable(app.text, app.file, "exec"), "app"):
        return []
    # In the words of `Project.load`.
    return [Finding(app.file, 1, 1, "app.py defines no `app`; write `app = App(__name__)`")]


def loaded_with_app(sources: Sequence[Source]) -> set[str]:
    """The names of the modules of the app that an import of `app` imports, directly or through others.

    What a function imports when it is called is not among them.
    """
    known = {source.module: source for source in sources}
    found: set[str] = set()
    waiting = ["app"]
    while waiting:
        name = waiting.pop()
        if name in known and name not in found:
            found.add(name)
            waiting += _imported(known[name])
    return found


def _binds(table: symtable.SymbolTable, name: str) -> bool:
    """Whether running a module, or a function of it that says `global`, sets a name of the module."""
    own = [symbol for symbol in table.get_symbols() if symbol.get_name() == name]
    is_of_module = table.get_type() == "module" or any(symbol.is_declared_global() for symbol in own)
    is_set = any(symbol.is_assigned() or symbol.is_imported() for symbol in own)
    return (is_of_module and is_set) or any(_binds(child, name) for child in table.get_children())


def _imported(source: Source) -> Iterator[str]:
    """Each module that a module may import, and the packages around it."""
    for statement in _run_at_import(source):
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            base = source.imported_module(statement)
            names = [base, *(f"{base}.{alias.name}" for alias in statement.names)]
        else:
            continue
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[:length]) for length in range(1, len(parts) + 1))


def _run_at_import(source: Source) -> Iterator[ast.stmt]:
    for_checkers_only: set[ast.stmt] = set()
    for statement in statements_of(source.tree.body):
        if isinstance(statement, ast.If) and source.dotted(statement.test) == "typing.TYPE_CHECKING":
            for_checkers_only.update(statements_of(statement.body))
        if statement not in for_checkers_only:
            yield statement
