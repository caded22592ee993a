"""What the code of an app does with its jobs: which classes it registers, which it enqueues, which it has on a
schedule."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from melee.builder.classes import AppClass
from melee.builder.names import Names
from melee.builder.source import Source

_ENQUEUES = {"enqueue", "enqueue_in", "enqueue_at", "enqueue_many"}


@dataclass
class JobUses:
    """`enqueued` has each place where a job is made and enqueued, `schedules` each cron expression. `is_known` is False
    when classes may be registered that only a run would show.

    A call is known by the name of its method and by what it is given: an app and its jobs may have any name.
    """

    registered: set[AppClass] = field(default_factory=set)
    enqueued: list[tuple[AppClass, Source, ast.expr]] = field(default_factory=list)
    schedules: list[tuple[Source, ast.expr]] = field(default_factory=list)
    is_known: bool = True

    @property
    def used(self) -> set[AppClass]:
        return {*self.registered, *(cls for cls, _source, _place in self.enqueued)}


def uses_of(sources: Sequence[Source], classes: Sequence[AppClass], names: Names) -> JobUses:
    uses = JobUses(is_known=all(source.is_read for source in sources))
    by_name = {cls.full_name: cls for cls in classes}
    for source in sources:
        _Reader(source, names, by_name, uses).read()
    return uses


class _Reader:
    """Reads one module."""

    def __init__(self, source: Source, names: Names, classes: Mapping[str, AppClass], uses: JobUses) -> None:
        self._source, self._names, self._classes, self._uses = source, names, classes, uses

    def read(self) -> None:
        at_their_place = set[ast.expr]()
        for node in self._source.nodes:
            match node:
                case ast.ClassDef(decorator_list=decorators):
                    at_their_place.update(decorators)
                    self._read_decorated(node)
                case ast.Call(func=ast.Attribute(attr=method) as function):
                    at_their_place.add(function)
                    self._read_call(node, function, method)
        handed_on = [
            node
            for node in self._source.nodes
            if isinstance(node, ast.Attribute) and node.attr == "register" and node not in at_their_place
        ]
        self._uses.is_known &= not any(map(self._may_be_of_jobs, handed_on))

    def _read_decorated(self, node: ast.ClassDef) -> None:
        cls = self._classes.get(f"{self._source.module}.{node.name}")
        # Whatever the decorator is called, it may be one that registers.
        if cls and cls.node is node and node.decorator_list:
            self._uses.registered.add(cls)

    def _read_call(self, call: ast.Call, function: ast.Attribute, method: str) -> None:
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if method == "register" and self._may_be_of_jobs(function):
            self._register([self._class(each) for each in given])
        elif method == "cron" and len(given) == 2 and self._may_be_of_jobs(function):
            self._read_cron(function, *given)
        elif method in _ENQUEUES:
            for each in given[:1]:
                self._enqueue(each)

    def _read_cron(self, function: ast.Attribute, expression: ast.expr, job: ast.expr) -> None:
        cls = self._made(job)
        self._register([cls])
        # Other things than an app have schedules, too, in notations of their own.
        if cls or self._names.full(self._source, function).endswith(".jobs.cron"):
            self._uses.schedules.append((self._source, expression))

    def _register(self, classes: list[AppClass | None]) -> None:
        known = [cls for cls in classes if cls]
        self._uses.registered.update(known)
        self._uses.is_known &= len(known) == len(classes)

    def _enqueue(self, given: ast.expr) -> None:
        for each in _each_in(given):
            if cls := self._made(each):
                self._uses.enqueued.append((cls, self._source, each))

    def _may_be_of_jobs(self, function: ast.expr) -> bool:
        """Whether a method may be one of `app.jobs`: not that of a module, such as `atexit.register`."""
        name = self._names.full(self._source, function)
        return not name or self._names.is_of_the_app(name) or name.startswith("flask.current_app.")

    def _made(self, expression: ast.expr) -> AppClass | None:
        """The class of which an expression makes a job, as `SendWelcome(user_id=1)` does."""
        return self._class(expression.func) if isinstance(expression, ast.Call) else None

    def _class(self, expression: ast.expr) -> AppClass | None:
        return self._classes.get(self._names.full(self._source, expression))


def _each_in(given: ast.expr) -> Iterator[ast.expr]:
    match given:
        case ast.List(elts=several) | ast.Tuple(elts=several):
            yield from several
        case ast.ListComp(elt=one) | ast.GeneratorExp(elt=one):
            yield one
        case _:
            yield given
