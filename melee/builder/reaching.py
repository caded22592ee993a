"""What the code of some classes leads to, across the modules of an app."""

import ast
from collections.abc import Iterable

from melee.builder.classes import AppClass
from melee.builder.names import Names
from melee.builder.source import Source


def nodes_reached(classes: Iterable[AppClass], names: Names, without: Iterable[AppClass]) -> set[ast.AST]:
    """The nodes of these classes, and of the functions and classes of the app that they use, directly or through
    others, but not of the classes `without`, which run elsewhere."""
    left_out: set[ast.AST] = {cls.node for cls in without}
    waiting: list[tuple[Source, ast.AST]] = [(cls.source, cls.node) for cls in classes]
    reached: set[ast.AST] = set()
    while waiting:
        source, definition = waiting.pop()
        if definition in reached or definition in left_out:
            continue
        for node in ast.walk(definition):
            reached.add(node)
            if isinstance(node, ast.Name | ast.Attribute):
                match names.defined.get(names.full(source, node)):
                    case other, (ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef()) as used:
                        waiting.append((other, used))
    return reached
