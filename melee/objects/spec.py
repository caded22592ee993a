"""What a class derived from `Durable` offers to callers, read from the class; refuses what cannot be called."""

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any

from melee import shape
from melee.errors import DefinitionError, ShapeError

RESERVED = frozenset({"id", "storage", "timer", "cancel_timer", "log"})
"""Names an object has from `Durable`; a class may not define them."""

HOOKS = frozenset({"setup", "on_timer"})
"""Methods that melee calls, and callers cannot."""

NOT_PLAIN = "async methods and generators cannot be called from elsewhere; write a plain one"

_KINDS_NOT_PLAIN = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)


@dataclass(frozen=True)
class ParameterSpec:
    name: str
    annotation: str
    default: str


@dataclass(frozen=True)
class MethodSpec:
    """A public method. `result` and annotations are source text, empty where the class has none."""

    name: str
    parameters: tuple[ParameterSpec, ...]
    result: str
    doc: str


@dataclass(frozen=True)
class ClassSpec:
    name: str
    module: str
    methods: tuple[MethodSpec, ...]

    @cached_property
    def method_names(self) -> frozenset[str]:
        return frozenset(method.name for method in self.methods)


def read_spec(cls: type, base: type) -> ClassSpec:
    """The public methods defined by `cls` and its ancestors below `base`, in the order of definition.

    Raises:
        DefinitionError: a reserved name; a method that is async or a generator, or that takes keyword-only, `*` or
            `**` parameters or a default that is not JSON-shaped; an `__init__` that needs arguments.
    """
    found: dict[str, FunctionType] = {}
    for ancestor in reversed(cls.__mro__):
        if ancestor is not base and issubclass(ancestor, base):
            found |= _functions(ancestor)
    methods = [_method(cls, name, function) for name, function in found.items()]
    return ClassSpec(cls.__name__, cls.__module__, tuple(method for method in methods if is_offered(method.name)))


def parameter_spec(place: str, parameter: inspect.Parameter) -> ParameterSpec:
    """One parameter of a public method; raises `DefinitionError` when no caller could give it."""
    if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
        problem = f"parameter {parameter} is not positional, as what crosses must be; take a plain parameter"
        raise DefinitionError(place, problem)
    default = ""
    if parameter.default is not parameter.empty:
        try:
            shape.encode(parameter.default, f"the default of {parameter.name}")
        except ShapeError as error:
            raise DefinitionError(place, str(error)) from error
        default = repr(parameter.default)
    return ParameterSpec(parameter.name, annotation_text(parameter.annotation), default)


def annotation_text(annotation: Any) -> str:
    """An annotation as source text; empty when there is none."""
    if annotation is inspect.Signature.empty:
        return ""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def check_name(place: str, name: str) -> None:
    """Raises `DefinitionError` when a class may not define this name."""
    if name in RESERVED:
        raise DefinitionError(place, f"`{name}` is what every durable object has from melee; choose another name")


def check_called_by_melee(place: str, name: str, parameters: Iterable[inspect.Parameter]) -> None:
    """Raises `DefinitionError` when melee could not call this method."""
    if name in HOOKS | {"__init__"} and any(parameter.default is parameter.empty for parameter in parameters):
        raise DefinitionError(place, f"melee calls {name} without arguments; take none")


def is_offered(name: str) -> bool:
    """Whether callers can call a method of this name."""
    return not name.startswith("_") and name not in HOOKS


def _functions(cls: type) -> dict[str, FunctionType]:
    for name, value in vars(cls).items():
        check_name(_place(cls, name, value), name)
    return {
        name: value
        for name, value in vars(cls).items()
        if isinstance(value, FunctionType) and (not name.startswith("_") or name == "__init__")
    }


def _method(cls: type, name: str, function: FunctionType) -> MethodSpec:
    place = _place(cls, name, function)
    if any(is_special(function) for is_special in _KINDS_NOT_PLAIN):
        raise DefinitionError(place, NOT_PLAIN)
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())[1:]
    specs = tuple(parameter_spec(place, parameter) for parameter in parameters)
    check_called_by_melee(place, name, parameters)
    return MethodSpec(name, specs, annotation_text(signature.return_annotation), inspect.getdoc(function) or "")


def _place(cls: type, name: str, value: Any) -> str:
    code = getattr(value, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}: {cls.__name__}.{name}" if code else f"{cls.__name__}.{name}"
