"""The durable jobs of an app: classes that are enqueued and not registered, names that are missing or given twice, and
cron expressions that are none."""

import ast
from collections.abc import Iterator, Sequence

from melee.builder import guide
from melee.builder.classes import JOBS, AppClass
from melee.builder.job_uses import JobUses, uses_of
from melee.builder.literals import Literals
from melee.builder.names import Names
from melee.builder.source import Finding, Source, name_set_by, statements_of
from melee.errors import DefinitionError
from melee.jobs.cron import Schedule


def findings(sources: Sequence[Source], classes: Sequence[AppClass]) -> list[Finding]:
    """What would be refused when a job is registered or enqueued, or when its schedule is read. What only a run would
    show is taken for good."""
    names = Names(sources)
    literals = Literals(sources, names)
    uses = uses_of(sources, classes, names)
    return [
        *_not_registered(uses),
        *_without_name(sources, classes, uses, names),
        *_namesakes(classes, uses, literals),
        *_wrong_schedules(uses, literals),
    ]


def _not_registered(uses: JobUses) -> Iterator[Finding]:
    for cls, source, place in uses.enqueued if uses.is_known else []:
        if cls not in uses.registered:
            problem = f"{cls.name} is not registered; write app.jobs.register({cls.name}) (see {guide.JOBS})"
            yield source.finding(place, problem)


def _without_name(
    sources: Sequence[Source], classes: Sequence[AppClass], uses: JobUses, names: Names
) -> Iterator[Finding]:
    """Of classes that are used, and of those that could be: others are there to be derived from."""
    heads = {ancestor for cls in classes for ancestor in cls.ancestors}
    for cls in classes:
        is_meant = cls in uses.used or (cls not in heads and any(_sets(each, "run") for each in _line(cls)))
        may_have_one = _is_set_elsewhere(sources) or not _is_wholly_known(cls, classes, names)
        if is_meant and not may_have_one and not any(_sets(each, "NAME") for each in _line(cls)):
            problem = f"{cls.name} has no NAME, by which the database knows it; write one such as 'send_welcome'"
            yield cls.source.finding(cls.node, f"{problem} (see {guide.JOBS})")


def _namesakes(classes: Sequence[AppClass], uses: JobUses, literals: Literals) -> Iterator[Finding]:
    first: dict[str, AppClass] = {}
    # Who inherits a name is the one who lacks a name of its own.
    for cls in sorted(classes, key=lambda cls: _sets(cls, "NAME") is None):
        literal = literals.of_class(_line(cls), "NAME")
        is_meant = cls in uses.registered or (not uses.is_known and _sets(cls, "NAME"))
        if not literal or not is_meant:
            continue
        other = first.setdefault(literal.text, cls)
        if other is not cls:
            problem = f"{cls.name}: {other.full_name} is called {literal.text!r}, too; give one of them another NAME"
            yield cls.source.finding(_sets(cls, "NAME") or cls.node, f"{problem} (see {guide.JOBS})")


def _wrong_schedules(uses: JobUses, literals: Literals) -> Iterator[Finding]:
    for source, expression in uses.schedules:
        if literal := literals.of(source, expression):
            try:
                Schedule(literal.text)
            except DefinitionError as error:
                yield literal.source.finding(literal.node, f"{error} (see {guide.CRON})")


def _line(cls: AppClass) -> tuple[AppClass, ...]:
    return cls, *cls.ancestors


def _sets(cls: AppClass, attribute: str) -> ast.stmt | None:
    """The statement of a class that gives it an attribute."""
    return next((each for each in statements_of(cls.node.body) if name_set_by(each) == attribute), None)


def _is_set_elsewhere(sources: Sequence[Source]) -> bool:
    """Whether some code gives a NAME to a class from outside."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == "NAME" and isinstance(node.ctx, ast.Store)
        for source in sources
        for node in source.nodes
    )


def _is_wholly_known(cls: AppClass, classes: Sequence[AppClass], names: Names) -> bool:
    """Whether all that a class is derived from is a job of the app, and no decorator may add to it."""
    known = JOBS | {each.full_name for each in classes}
    bases = [(each, base) for each in _line(cls) for base in each.node.bases]
    decorators = [decorator for each in _line(cls) for decorator in each.node.decorator_list]
    return all(names.full(each.source, base) in known for each, base in bases) and all(
        isinstance(decorator, ast.Attribute) and decorator.attr == "register" for decorator in decorators
    )
