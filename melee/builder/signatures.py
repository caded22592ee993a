"""What the durable classes of an app offer to callers, read from syntax trees by the rules of `melee.objects.spec`."""

import ast
from collections.abc import Iterator, Sequence

from melee.builder import guide
from melee.builder.annotations import Annotations
from melee.builder.classes import AppClass
from melee.builder.names import Names
from melee.builder.parameters import Function, Parameter, methods_of, parameters_of
from melee.builder.source import Finding, Located, Source, name_set_by, own_nodes, statements_of
from melee.errors import DefinitionError
from melee.objects.request import underscored
from melee.objects.spec import (
    NOT_PLAIN,
    ClassSpec,
    MethodSpec,
    annotation_text,
    check_called_by_melee,
    check_name,
    is_offered,
    parameter_spec,
)


class Signatures:
    """What the classes of an app offer."""

    def __init__(self, sources: Sequence[Source], classes: Sequence[AppClass]) -> None:
        self._names = Names(sources)
        self._annotations = Annotations(self._names)
        self._classes = classes

    def findings(self) -> list[Finding]:
        """What is refused when a class is defined, and annotations that could not cross."""
        return [*self._namesakes(), *(finding for cls in self._classes for finding in self._findings_of(cls))]

    def spec(self, cls: AppClass) -> ClassSpec:
        """What `read_spec` makes of a class about which there is no finding.

        Where the value of a default cannot be known without running the app it is `...`, and an annotation is the text
        that stands there.
        """
        offered = {
            name: self._method_spec(ancestor, name, function)
            for ancestor in reversed((cls, *cls.ancestors))
            for name, function in methods_of(ancestor, self._names).items()
            if is_offered(name)
        }
        return ClassSpec(cls.name, cls.source.module, tuple(offered.values()))

    def _namesakes(self) -> Iterator[Finding]:
        folders: dict[str, AppClass] = {}
        for cls in self._classes:
            other = folders.setdefault(underscored(cls.name), cls)
            if other is not cls:
                theirs = f"{other.source.module}.{other.name}"
                problem = f"{cls.name}: {theirs} would share its data; give one of them another name"
                yield cls.source.finding(cls.node, f"{problem} (see {guide.CLASSES})")

    def _findings_of(self, cls: AppClass) -> Iterator[Finding]:
        for statement in statements_of(cls.node.body):
            try:
                check_name("", name_set_by(statement))
            except DefinitionError as error:
                problem = f"{cls.name}.{name_set_by(statement)}: {error.problem}"
                yield cls.source.finding(statement, f"{problem} (see {guide.RESERVED_NAMES})")
        for name, function in methods_of(cls, self._names).items():
            for place, problem in self._problems_of(cls, name, function):
                yield cls.source.finding(place, f"{cls.name}.{name}: {problem}")

    def _problems_of(self, cls: AppClass, name: str, function: Function) -> Iterator[tuple[Located, str]]:
        # A decorator may make a plain method of it.
        if not function.decorator_list and _is_not_plain(function):
            yield function, f"{NOT_PLAIN} (see {guide.METHODS})"
        parameters = parameters_of(cls, function, self._names, self._annotations)
        for parameter in parameters:
            for problem in _problems_of(name, parameter):
                yield parameter.node, f"{problem} (see {guide.METHODS})"
        if is_offered(name):
            annotations = [*(parameter.node.annotation for parameter in parameters), function.returns]
            for annotation in filter(None, annotations):
                for place, problem in self._annotations.unshaped(cls.source, annotation):
                    yield place, f"{problem} (see {guide.JSON_SHAPE})"

    def _method_spec(self, cls: AppClass, name: str, function: Function) -> MethodSpec:
        parameters = parameters_of(cls, function, self._names, self._annotations)
        return MethodSpec(
            name,
            tuple(parameter.spec() for parameter in parameters),
            annotation_text(self._annotations.value(cls.source, function.returns)),
            ast.get_docstring(function) or "",
        )


def _problems_of(method: str, parameter: Parameter) -> Iterator[str]:
    try:
        parameter_spec("", parameter.seen)
        check_called_by_melee("", method, [parameter.seen])
    except DefinitionError as error:
        yield error.problem


def _is_not_plain(function: Function) -> bool:
    return isinstance(function, ast.AsyncFunctionDef) or any(
        isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function)
    )
