"""The methods of a class and their parameters, read from its syntax tree as `inspect` reads them from the class."""

import ast
import inspect
from dataclasses import dataclass, replace
from typing import Any

from melee.builder.annotations import Annotations
from melee.builder.classes import AppClass
from melee.builder.constants import NotConstant, constant
from melee.builder.names import Names
from melee.builder.source import statements_of
from melee.objects.spec import ParameterSpec, parameter_spec

Function = ast.FunctionDef | ast.AsyncFunctionDef

# What they make of a function is nothing that a handle has.
_NO_METHOD = {
    *(f"builtins.{name}" for name in ("classmethod", "property", "staticmethod")),
    *(f"functools.{name}" for name in ("cache", "cached_property", "lru_cache", "partialmethod")),
    "functools.singledispatchmethod",
}
_OF_PROPERTIES = {"deleter", "getter", "setter"}


@dataclass(frozen=True)
class Parameter:
    """One parameter. `seen` is what `inspect` has for it, with None for a default that is not known."""

    node: ast.arg
    seen: inspect.Parameter
    default_is_known: bool

    def spec(self) -> ParameterSpec:
        """As `read_spec` makes it, with `...` for a default that is not known; raises `DefinitionError`."""
        spec = parameter_spec("", self.seen)
        return spec if self.default_is_known else replace(spec, default="...")


def methods_of(cls: AppClass, names: Names) -> dict[str, Function]:
    """The functions that are methods of a class: public ones, hooks, and `__init__`, in the order of definition."""
    found: dict[str, Function | None] = {}
    for statement in statements_of(cls.node.body):
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found[name] = None if _is_no_method(cls, statement, names) else statement
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = found.get(value.id) if isinstance(value, ast.Name) else None
    return {
        name: function
        for name, function in found.items()
        if function and (not name.startswith("_") or name == "__init__")
    }


def parameters_of(cls: AppClass, function: Function, names: Names, annotations: Annotations) -> list[Parameter]:
    """The parameters after the first, which is `self`, in the order of `inspect`."""
    own = {
        statement.targets[0].id: statement.value
        for statement in statements_of(cls.node.body)
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }

    def read(node: ast.arg, kind: Any, default: ast.expr | None) -> Parameter:
        value: Any = inspect.Parameter.empty
        is_known = True
        if default:
            try:
                value = constant(names, cls.source, default, own)
            except (NotConstant, RecursionError):
                value, is_known = None, False
        annotation = annotations.value(cls.source, node.annotation)
        return Parameter(node, inspect.Parameter(node.arg, kind, default=value, annotation=annotation), is_known)

    return [read(*parts) for parts in _in_order(function.args)[1:]]


def _in_order(arguments: ast.arguments) -> list[tuple[ast.arg, Any, ast.expr | None]]:
    """Each parameter with its kind and its default."""
    kinds = inspect.Parameter
    positional: list[tuple[ast.arg, Any]] = [(node, kinds.POSITIONAL_ONLY) for node in arguments.posonlyargs]
    positional += [(node, kinds.POSITIONAL_OR_KEYWORD) for node in arguments.args]
    defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
    return [
        *((node, kind, default) for (node, kind), default in zip(positional, defaults, strict=True)),
        *((node, kinds.VAR_POSITIONAL, None) for node in [arguments.vararg] if node),
        *(
            (node, kinds.KEYWORD_ONLY, default)
            for node, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        ),
        *((node, kinds.VAR_KEYWORD, None) for node in [arguments.kwarg] if node),
    ]


def _is_no_method(cls: AppClass, function: Function, names: Names) -> bool:
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(called, ast.Attribute) and called.attr in _OF_PROPERTIES:
            return True
        if names.full_or_builtin(cls.source, called) in _NO_METHOD:
            return True
    return False
