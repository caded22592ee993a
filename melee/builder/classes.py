"""The durable classes and the jobs of an app, found in its syntax trees."""

import ast
from collections.abc import Sequence, Set
from dataclasses import dataclass

from melee.builder.names import Names
from melee.builder.source import Source

_DURABLE = {"melee.Durable", "melee.objects.durable.Durable"}
JOBS = {"melee.Job", "melee.jobs.job.Job"}


@dataclass(frozen=True, eq=False)
class AppClass:
    """A class of the app that is derived from `Durable`, or from `Job`.

    `ancestors` are those classes of the app between it and that one that are derived from it themselves, nearest first,
    as Python would look through them.
    """

    name: str
    source: Source
    node: ast.ClassDef
    ancestors: "tuple[AppClass, ...]" = ()

    @property
    def full_name(self) -> str:
        return f"{self.source.module}.{self.name}"


def durable_classes(sources: Sequence[Source]) -> list[AppClass]:
    """The durable classes that the modules of an app define at their top, by module and place."""
    return _derived(sources, _DURABLE)


def job_classes(sources: Sequence[Source]) -> list[AppClass]:
    """The jobs that they define there."""
    return _derived(sources, JOBS)


def _derived(sources: Sequence[Source], roots: Set[str]) -> list[AppClass]:
    names = Names(sources)
    defined = {
        name: (source, statement)
        for name, (source, statement) in names.defined.items()
        if isinstance(statement, ast.ClassDef)
    }
    bases = {name: [names.full(source, base) for base in node.bases] for name, (source, node) in defined.items()}
    family = _Family(bases, roots)
    found: dict[str, AppClass] = {}
    # Ancestors first, since each class is made with those above it.
    for name in sorted(family.members, key=lambda name: len(family.ancestors(name))):
        above = tuple(found[ancestor] for ancestor in family.ancestors(name))
        source, node = defined[name]
        found[name] = AppClass(node.name, source, node, above)
    return [found[name] for name in defined if name in found]


class _Family:
    """Who is derived from whom. Each class is mirrored by an empty one, so that Python itself finds the order of
    ancestors."""

    def __init__(self, bases: dict[str, list[str]], roots: Set[str]) -> None:
        self._bases, self._roots = bases, roots
        self._mirrors: dict[str, type] = {}
        self._root = type("Root", (), {})
        self.members = [name for name in bases if issubclass(self._mirror(name), self._root)]

    def ancestors(self, name: str) -> list[str]:
        return [
            cls.__name__
            for cls in self._mirror(name).__mro__[1:]
            if issubclass(cls, self._root) and cls is not self._root
        ]

    def _mirror(self, name: str) -> type:
        if name in self._roots:
            return self._root
        if name not in self._bases:
            return object
        if name not in self._mirrors:
            # A class that is derived from itself, in a circle of modules, ends here.
            self._mirrors[name] = object
            bases = dict.fromkeys(self._mirror(base) for base in self._bases[name])
            bases.pop(object, None)
            try:
                self._mirrors[name] = type(name, tuple(bases), {})
            except TypeError:
                # Python finds no order either, and says so when the class is defined.
                self._mirrors[name] = type(name, tuple(bases)[:1], {})
        return self._mirrors[name]
