"""What an app may not start for itself, by name: threads, queues, processes, asyncio tasks, schedulers, job systems.

None of it outlives the request in which it begins, and nobody would see that it failed. A job has an event loop, and
asyncio is its own; a thread that it leaves behind would go on beside the next job.
"""

import ast
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from melee.builder import guide
from melee.builder.classes import AppClass
from melee.builder.names import Names
from melee.builder.reaching import nodes_reached
from melee.builder.source import Finding, Source, statements_of


class Refusal(NamedTuple):
    """Why a name is refused, what to use in its place, and where the guide says more."""

    why: str
    instead: str
    see: str

    def of(self, name: str) -> str:
        return f"{name}: {self.why}; {self.instead} (see {self.see})"


_THREAD = Refusal(
    "a thread ends with the process of its request",
    "do the work in the request, or in a durable job",
    guide.THREADS,
)
_QUEUE = Refusal(
    "what waits in it is lost with its process, and no other process sees it",
    "enqueue a durable job, or keep it as rows in the storage of a durable object",
    guide.QUEUES,
)
_PROCESS = Refusal(
    "a process of your own ends with its request",
    "do the work in the request, or in a durable job",
    guide.PROCESSES,
)
_ASYNC_TASK = Refusal(
    "no event loop runs after the request",
    "do the work in the request, or in a durable job, whose run may be async",
    guide.ASYNC_TASKS,
)
_SCHEDULER = Refusal(
    "no process stays to run it",
    "use app.jobs.cron, or the timer of a durable object, which on_timer sets again",
    guide.SCHEDULERS,
)
_JOB_SYSTEM = Refusal(
    "it needs workers and a broker that melee does not run",
    "use a durable job",
    guide.JOB_SYSTEMS,
)
_LEFT_BY_JOB = "when its job is done nobody waits for it, and the next job runs beside it"
_IN_JOBS = {
    _THREAD: Refusal(_LEFT_BY_JOB, "do the work in run, which may be async, or enqueue another job", guide.THREADS),
    _PROCESS: Refusal(_LEFT_BY_JOB, "use subprocess.run, which waits, or enqueue another job", guide.PROCESSES),
}
_APP_DATABASE = Refusal(
    "a durable object has a database of its own",
    "use self.storage, or pass what the method needs from app.db as an argument",
    guide.STORAGE,
)

PACKAGES = {
    **dict.fromkeys(["apscheduler", "flask_apscheduler", "rq_scheduler", "sched", "schedule"], _SCHEDULER),
    **dict.fromkeys(
        ["arq", "celery", "dramatiq", "flask_rq2", "huey", "procrastinate", "rq", "taskiq"],
        _JOB_SYSTEM,
    ),
}
"""Refused as soon as they are imported."""

_ASYNC_LOOP = "asyncio loop"
_MAKES_LOOP = {f"asyncio.{name}" for name in ("get_event_loop", "get_running_loop", "new_event_loop")}


def _names(module: str, names: str, refusal: Refusal) -> dict[str, Refusal]:
    return {f"{module}.{name}": refusal for name in names.split()}


NAMES = {
    **_names("threading", "Thread Timer", _THREAD),
    **_names("_thread", "start_new_thread start_new", _THREAD),
    **_names("multiprocessing.pool", "ThreadPool", _THREAD),
    **_names("multiprocessing.dummy", "Pool Process", _THREAD),
    **_names("concurrent.futures", "ThreadPoolExecutor", _THREAD),
    **_names("concurrent.futures.thread", "ThreadPoolExecutor", _THREAD),
    **_names("asyncio", "to_thread", _THREAD),
    **_names(_ASYNC_LOOP, "run_in_executor", _THREAD),
    **_names("gevent", "spawn spawn_later spawn_raw Greenlet", _THREAD),
    **_names("gevent.pool", "Pool Group", _THREAD),
    **_names("gevent.threadpool", "ThreadPool ThreadPoolExecutor", _THREAD),
    **_names("eventlet", "spawn spawn_n spawn_after GreenPool GreenPile", _THREAD),
    **_names("queue", "Queue LifoQueue PriorityQueue SimpleQueue", _QUEUE),
    **_names("asyncio", "Queue LifoQueue PriorityQueue", _QUEUE),
    **_names("multiprocessing", "Queue JoinableQueue SimpleQueue", _QUEUE),
    **_names("multiprocessing.queues", "Queue JoinableQueue SimpleQueue", _QUEUE),
    **_names("gevent.queue", "Queue JoinableQueue LifoQueue PriorityQueue SimpleQueue", _QUEUE),
    **_names("multiprocessing", "Process Pool Manager", _PROCESS),
    **_names("multiprocessing.pool", "Pool", _PROCESS),
    **_names("multiprocessing.process", "BaseProcess", _PROCESS),
    **_names("concurrent.futures", "ProcessPoolExecutor", _PROCESS),
    **_names("concurrent.futures.process", "ProcessPoolExecutor", _PROCESS),
    **_names("os", "fork forkpty", _PROCESS),
    **_names("asyncio", "create_task ensure_future run_coroutine_threadsafe Task TaskGroup", _ASYNC_TASK),
    **_names(_ASYNC_LOOP, "create_task call_later call_soon call_at", _ASYNC_TASK),
}
"""Refused where they are used."""


def findings(sources: Sequence[Source], classes: Sequence[AppClass], jobs: Sequence[AppClass]) -> list[Finding]:
    """Every use of something that is refused."""
    names = Names(sources)
    of_jobs = nodes_reached(jobs, names, without=classes)
    return [
        *(finding for source in sources for finding in _packages(source, names)),
        *(finding for source in sources for finding in _uses(source, names, of_jobs)),
        *(finding for cls in classes for finding in _app_databases(cls, names)),
    ]


def _packages(source: Source, names: Names) -> Iterator[Finding]:
    for node, name in source.imports:
        refusal = PACKAGES.get(name.partition(".")[0])
        if refusal and not names.is_of_the_app(name):
            yield source.finding(node, refusal.of(name.partition(".")[0]))


def _uses(source: Source, names: Names, of_jobs: Set[ast.AST]) -> Iterator[Finding]:
    meant = _Meant(source, names)
    for node in _expressions(source.nodes):
        name = meant.name_of(node)
        refusal = NAMES.get(name)
        if refusal and node in of_jobs:
            refusal = None if name.startswith("asyncio") else _IN_JOBS.get(refusal, refusal)
        if refusal:
            yield source.finding(node, refusal.of(name))


class _Meant:
    """What the expressions of a module refer to, methods of an event loop included."""

    def __init__(self, source: Source, names: Names) -> None:
        self._source, self._names = source, names
        self._loops = {
            target.id
            for node in source.nodes
            if isinstance(node, ast.Assign) and self._is_new_loop(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def name_of(self, expression: ast.expr) -> str:
        """The full name; empty when it is unknown, or a module of the app itself."""
        if isinstance(expression, ast.Attribute) and self._is_loop(expression.value):
            return f"{_ASYNC_LOOP}.{expression.attr}"
        name = self._names.full(self._source, expression)
        return "" if self._names.is_of_the_app(name) else name

    def _is_loop(self, expression: ast.expr) -> bool:
        is_known = isinstance(expression, ast.Name) and expression.id in self._loops
        return is_known or self._is_new_loop(expression)

    def _is_new_loop(self, expression: ast.expr) -> bool:
        return isinstance(expression, ast.Call) and self._names.full(self._source, expression.func) in _MAKES_LOOP


def _app_databases(cls: AppClass, names: Names) -> Iterator[Finding]:
    for node in _expressions(list(ast.walk(cls.node))):
        if names.is_app_database(cls.source, node):
            yield cls.source.finding(node, _APP_DATABASE.of(ast.unparse(node)))


def _expressions(nodes: Sequence[ast.AST]) -> Iterator[ast.Name | ast.Attribute]:
    """The names that are used among the nodes of a tree: neither those that are set, nor annotations, nor what only
    gets another name at the top of a module, to be used under that."""
    skipped = {id(node) for left_out in _left_out(nodes) for node in ast.walk(left_out)}
    for node in nodes:
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and id(node) not in skipped:
            yield node


def _left_out(nodes: Sequence[ast.AST]) -> Iterator[ast.expr]:
    for node in nodes:
        match node:
            case ast.arg(annotation=ast.expr() as annotation) | ast.AnnAssign(annotation=annotation):
                yield annotation
            case (
                ast.FunctionDef(returns=ast.expr() as annotation)
                | ast.AsyncFunctionDef(returns=ast.expr() as annotation)
            ):
                yield annotation
            case ast.Module(body=body):
                for statement in statements_of(body):
                    match statement:
                        case ast.Assign(targets=[ast.Name()], value=ast.Name() | ast.Attribute() as renamed):
                            yield renamed
