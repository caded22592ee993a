"""The values of constants, read from syntax trees."""

import ast
import operator
from collections.abc import Mapping
from typing import Any

from melee.builder.names import Names
from melee.builder.source import Source

_ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


class NotConstant(Exception):
    """The value cannot be known without running the app."""


def constant(names: Names, source: Source, node: ast.expr, own: Mapping[str, ast.expr] | None = None) -> Any:
    """The value of an expression of literals, names of constants, and a little arithmetic.

    Args:
        own: what is set in the class around it.

    Raises:
        NotConstant: it is none.
    """
    own = own or {}
    match node:
        case ast.Name(id=name) if name in own:
            # What a class sets from its own names is not followed further.
            return constant(names, source, own[name])
        case ast.Name() | ast.Attribute():
            match names.defined.get(names.full(source, node)):
                case other, (ast.Assign(value=ast.expr() as value) | ast.AnnAssign(value=ast.expr() as value)):
                    return constant(names, other, value)
        case ast.BinOp(left=left, op=how, right=right) if type(how) in _ARITHMETIC:
            sides = [constant(names, source, side, own) for side in (left, right)]
            if all(type(side) in (int, float) for side in sides):
                return _ARITHMETIC[type(how)](*sides)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError):
        raise NotConstant from None
