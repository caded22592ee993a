"""Handles: what `Stats.get("visits")` returns. They are rendered as readable Python and then run, so that what a
person finds in `.melee/objects.py` is what the app calls."""

from collections.abc import Iterable
from textwrap import indent
from typing import Any

import msgspec

from melee import log, shape
from melee.objects.request import Call, ObjectRef, ask
from melee.objects.spec import ClassSpec, MethodSpec, ParameterSpec

_HEADER = '''"""What can be called on the durable objects of this app. Written by melee; edits are overwritten."""

from __future__ import annotations

from typing import Any

from melee.objects.handles import Handle
'''


class Handle:
    """Stands for one object: each method sends a call to the owner and returns what the object's method returned."""

    __slots__ = ("_ref",)

    def __init__(self, ref: ObjectRef) -> None:
        self._ref = ref

    def __repr__(self) -> str:
        return f"<{self._ref}>"

    def _call(self, method: str, *arguments: Any) -> Any:
        name = f"{self._ref.class_name}.{method}"
        encoded = [shape.encode(value, f"{name} argument {place}") for place, value in enumerate(arguments, 1)]
        joined = b"[" + b",".join(encoded) + b"]"
        shape.check_size(joined, f"{name} arguments")
        return shape.decode(ask(Call(*self._ref, method, msgspec.Raw(joined), request=log.request_id())))


def render(specs: Iterable[ClassSpec]) -> str:
    """The source of `.melee/objects.py`: a class `<Name>Handle` for each spec."""
    return "\n\n".join([_HEADER, *(_render_class(spec) for spec in specs)])


def handle_class(spec: ClassSpec) -> type[Handle]:
    """The handle class of one spec, made of the same source."""
    names: dict[str, Any] = {}
    exec(compile(render([spec]), f"<handle of {spec.name}>", "exec"), names)  # our own source, rendered above
    made: type[Handle] = names[f"{spec.name}Handle"]
    return made


def _render_class(spec: ClassSpec) -> str:
    head = f'''class {spec.name}Handle(Handle):
    """{spec.name}, defined in {spec.module}."""

    __slots__ = ()
'''
    return head + "".join(indent(_render_method(method), "    ") for method in spec.methods)


def _render_method(method: MethodSpec) -> str:
    names = "".join(f", {parameter.name}" for parameter in method.parameters)
    declared = "".join(f", {_declared(parameter)}" for parameter in method.parameters)
    # Without "/" the caller could name arguments, which do not cross a process boundary.
    only = ", /" if method.parameters else ""
    doc = f"    {method.doc.splitlines()[0]!r}\n" if method.doc else ""
    return f'''
def {method.name}(self{declared}{only}) -> {method.result or "Any"}:
{doc}    return self._call("{method.name}"{names})
'''


def _declared(parameter: ParameterSpec) -> str:
    annotation = f": {parameter.annotation}" if parameter.annotation else ""
    default = f" = {parameter.default}" if parameter.default else ""
    return f"{parameter.name}{annotation}{default}"
