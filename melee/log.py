"""What melee announces, and how it looks: the logic calls a function here, this module chooses the words.

`to_lines()` is for a person at a terminal (`melee dev`), `to_json()` for a log collector. Nothing is written before
one of them is called but warnings and errors, which go to standard error.
"""

import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, tzinfo
from pathlib import Path
from typing import IO, Any

# structlog imports rich where it is installed, for colours that melee has no use for, and that is half of what a worker
# imports. It does without as long as rich cannot be found.
_hides_rich = "rich" not in sys.modules
if _hides_rich:
    sys.modules["rich"] = None  # type: ignore[assignment]

import structlog  # noqa: E402
from structlog.typing import FilteringBoundLogger  # noqa: E402

if _hides_rich:
    del sys.modules["rich"]

Logger = FilteringBoundLogger
"""What `self.log` of an object is: `info`, `warning`, `error` with words and fields."""

_Event = MutableMapping[str, Any]
_listeners: list[Callable[[str, str], None]] = []


def described(error: BaseException) -> tuple[str, str]:
    """The message and the traceback of any error, as text that can be sent: UTF-8 can encode it, and it is there even
    when the error's own `__str__` raises."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - whatever the error's own code does
        message = f"<str() of this {type(error).__name__} failed>"
    texts = message, "".join(traceback.format_exception(error))
    message, trace = (text.encode(errors="backslashreplace").decode() for text in texts)
    return message, trace


def to_lines(stream: IO[str] | None = None) -> None:
    """A line an event, to `stream` (default: standard output): its words, its fields; a traceback below it."""
    _configure(stream or sys.stdout, logging.INFO, _as_line)


def to_json(stream: IO[str] | None = None) -> None:
    """A JSON object a line, to `stream` (default: standard output), with `level` and `timestamp` in UTC."""
    _configure(stream or sys.stdout, logging.INFO, structlog.processors.JSONRenderer(ensure_ascii=False))


def also_to(listener: Callable[[str, str], None]) -> None:
    """Gives `listener`, too, whatever this process logs from now on: the level, such as `warning`, and the text as
    `to_lines` writes it. It is called by the thread that logs."""
    _listeners.append(listener)


def to_standard_output() -> None:
    """Lines for a person when standard output is a terminal, JSON otherwise: so do all the processes of a server."""
    if sys.stdout.isatty():
        to_lines()
    else:
        to_json()


def _configure(stream: IO[str], level: int, render: Any) -> None:
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _with_traceback,
            _told,
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=_Lossy(stream)),  # type: ignore[arg-type]
        cache_logger_on_first_use=False,
    )


class _Lossy:
    """A stream that loses what cannot be written, since its reader has gone or the disk is full. Whoever announces
    something has other things to do than that."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        # A lone surrogate, or an umlaut in ASCII, must not end the process. JSON writes what is left the same way.
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        try:
            self._stream.write(text.encode(encoding, errors="backslashreplace").decode(encoding))
            self._stream.flush()
        except BrokenPipeError:
            # It never comes back. So the end of the process, which writes what is left, is not a failure either.
            with Path(os.devnull).open("wb") as nothing:
                os.dup2(nothing.fileno(), self._stream.fileno())
        except OSError:
            return

    def flush(self) -> None:
        """Nothing is left to do."""


def _with_traceback(_logger: Any, _name: str, event: _Event) -> _Event:
    given = event.pop("exc_info", None)
    error = given if isinstance(given, BaseException) else sys.exception() if given else None
    if error:
        message, event["traceback"] = described(error)
        event["error"] = f"{type(error).__name__}: {message}"
    return event


def _told(logger: Any, name: str, event: _Event) -> _Event:
    for listener in _listeners:
        listener(event["level"], _as_line(logger, name, event))
    return event


def _as_line(_logger: Any, _name: str, event: Mapping[str, Any]) -> str:
    fields = dict(event)
    words, trace = fields.pop("event"), fields.pop("traceback", "")
    level = fields.pop("level")
    fields.pop("timestamp")
    named = " ".join(f"{name}={value}" for name, value in fields.items())
    prefix = "" if level == "info" else f"{level}: "
    line = " ".join(filter(None, [f"{prefix}{words}", named]))
    return "\n".join(filter(None, [_harmless("\n    ".join(line.splitlines())), _harmless(trace.rstrip())]))


def _harmless(text: str) -> str:
    """What visitors send is logged, too. It must not tell the terminal what to do; nor does it begin a line of its own,
    since those after the first are moved in."""
    return "".join(char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text)


_configure(sys.stderr, logging.WARNING, _as_line)
_log: FilteringBoundLogger = structlog.get_logger()


def of_object(name: str) -> FilteringBoundLogger:
    """The logger an object has as `self.log`: what it writes carries `object=Class/id`."""
    bound: FilteringBoundLogger = structlog.get_logger().bind(object=name)
    return bound


def of_request(id: str) -> AbstractContextManager[None]:
    """Inside, whatever is logged carries `request=id`; nothing of the kind for no id."""
    return structlog.contextvars.bound_contextvars(**({"request": id} if id else {}))


@contextmanager
def of_job(name: str, id: int) -> Iterator[FilteringBoundLogger]:
    """Inside, whatever is logged carries `job=NAME/id`; gives the logger that a job has as `resources.log`."""
    before = structlog.contextvars.bind_contextvars(job=f"{name}/{id}")
    try:
        yield _log
    finally:
        structlog.contextvars.reset_contextvars(**before)


def request_id() -> str:
    """The id that what is logged here carries; empty outside of a request."""
    id: str = structlog.contextvars.get_contextvars().get("request", "")
    return id


def timer_fired(name: str) -> None:
    _log.info(f"timer {name} -> on_timer")


def timer_failed(name: str, error: BaseException, has_set_another: bool) -> None:
    next_one = "the one it had set comes" if has_set_another else "it is not tried again"
    _log.error(f"timer {name} -> on_timer raised; {next_one}", exc_info=error)


def timer_waits(name: str, error: BaseException) -> None:
    _log.error(f"timer {name} is due but the object cannot be loaded; tried again later", exc_info=error)


def call_failed(name: str, method: str, error: BaseException) -> None:
    _log.warning(f"call {name}.{method} raised", exc_info=error)


def commit_failed(name: str, error: BaseException) -> None:
    _log.error(f"commit of {name} failed; its instance is dropped", exc_info=error)


def index_not_settled(error: BaseException) -> None:
    _log.error("the registry of objects cannot be written; it is early until it can", exc_info=error)


def registry_rebuilt(objects: int) -> None:
    _log.warning("the registry of objects was rebuilt from their files", objects=objects)


def wal_left_behind(path: str, error: BaseException) -> None:
    _log.warning(
        "the disk refused to move the WAL into its file; it is read from where it is", file=path, exc_info=error
    )


def file_left_behind(path: str, error: BaseException) -> None:
    _log.error("the file of an object that ended cannot be deleted", file=path, error=str(error))


def file_unreadable(path: str, error: BaseException) -> None:
    _log.error("this object's file cannot be read; it is left out", file=path, error=str(error))


def worker_listens(path: str, pid: int) -> None:
    _log.info("object worker listens", socket=path, pid=pid)


def worker_stops(reason: str) -> None:
    _log.info("object worker stops", reason=reason)


def frame_refused(problem: str) -> None:
    _log.warning("a connection sent what is no request; closed", problem=problem)


def fork_failed(error: OSError) -> None:
    _log.error("no process can be forked; tried again in a moment", error=str(error))


def request_failed(method: str, path: str, error: BaseException) -> None:
    _log.error(f"{method} {path} raised", exc_info=error)


def request_served(id: str, client: str, method: str, path: str, status: int, body_bytes: int, seconds: float) -> None:
    """The access log. The query is left out, since it may hold what nobody else should read."""
    milliseconds = round(seconds * 1000, 1)
    _log.info(
        "request", method=method, path=path, status=status, ms=milliseconds, bytes=body_bytes, client=client, request=id
    )


def request_lost(id: str, pid: int, reason: str) -> None:
    _log.error("the child of a request was lost", request=id, pid=pid, reason=reason)


def request_overran(id: str, pid: int, seconds: float) -> None:
    _log.error("a request took longer than its budget; its child is killed", request=id, pid=pid, seconds=seconds)


def disk_refused(id: str, what: str, problem: str) -> None:
    _log.error(f"there is no room for the {what} of a request", request=id, problem=problem)


def gateway_failed(id: str, error: BaseException) -> None:
    _log.error("the gateway failed on a request", request=id, exc_info=error)


def app_unavailable(id: str, problem: str) -> None:
    _log.error("a request found no app to serve it", request=id, problem=problem)


def process_ended(name: str, pid: int, exit_code: int, again_in_seconds: float) -> None:
    _log.error(f"the {name} ended", pid=pid, exit_code=exit_code, again_in_seconds=round(again_in_seconds, 1))


def start_failed(name: str, error: OSError, again_in_seconds: float) -> None:
    _log.error(f"the {name} cannot be started", error=str(error), again_in_seconds=round(again_in_seconds, 1))


def process_killed(name: str, pid: int, grace_seconds: float) -> None:
    _log.warning(f"the {name} was killed; it did not end by itself", pid=pid, grace_seconds=grace_seconds)


def request_refused(client: tuple[str, int] | None, status: int) -> None:
    address = f"{client[0]}:{client[1]}" if client else "a local socket"
    _log.info("refused what came over a connection", client=address, status=status)


def app_wakes_for_request(name: str) -> None:
    _log.info(f"{name} wakes: a request came")


def app_wakes_for_timer(name: str, due_at: float | None, zone: tzinfo) -> None:
    _log.info(f"{name} wakes: a timer or job is due at {_moment(due_at, zone)}")


def app_wakes_for_order(name: str) -> None:
    _log.info(f"{name} wakes: it was told to look")


def app_never_sleeps() -> None:
    _log.info("the jobs are in Postgres, where anybody may store one: the app does not sleep")


def app_sleeps(name: str, next_wake_at: float | None, zone: tzinfo) -> None:
    _log.info(f"{name} sleeps; next timer or job: {_moment(next_wake_at, zone)}")


def app_reloads(name: str) -> None:
    _log.info(f"{name} is loaded anew")


def app_reloaded(name: str) -> None:
    _log.info(f"{name} serves what is on disk now")


def reload_failed(name: str, problem: str) -> None:
    _log.error(f"{name} cannot be loaded anew; the old version goes on", problem=problem)


def worker_failed(name: str, problem: str) -> None:
    _log.error(f"the {name} cannot serve", problem=problem)


def job_failed(name: str, attempt: int, error: BaseException) -> None:
    _log.warning(f"job {name} raised", attempt=attempt, exc_info=error)


def job_done(name: str, id: int, seconds: float) -> None:
    _log.info(f"job {name}/{id} -> done", ms=round(seconds * 1000, 1))


def job_given_up(name: str, id: int, attempts: int, error: str) -> None:
    _log.error(f"job {name} failed for good", job=f"{name}/{id}", attempts=attempts, error=error.partition("\n")[0])


def job_lost(name: str, id: int, attempt: int, reason: str) -> None:
    _log.error(f"job {name} was cut off", job=f"{name}/{id}", attempt=attempt, reason=reason)


def job_reaped(name: str, id: int, status: str) -> None:
    _log.warning(f"job {name} was left by a worker that is gone", job=f"{name}/{id}", status=status)


def jobs_given_back(jobs: int) -> None:
    _log.info("jobs that had not ended are queued again", jobs=jobs)


def job_worker_works(queues: list[str], executors: int, pid: int) -> None:
    _log.info("job worker works", queues=" ".join(queues), executors=executors, pid=pid)


def job_worker_stops(reason: str) -> None:
    _log.info("job worker stops", reason=reason)


def job_store_failed(error: BaseException, again_in_seconds: float) -> None:
    _log.error("the job worker cannot use the database", error=str(error), again_in_seconds=round(again_in_seconds, 1))


def queue_not_counted(error: BaseException) -> None:
    _log.warning("the queued jobs cannot be counted, so /metrics is without them", error=str(error) or "it took long")


def jobs_unknown(names: list[str]) -> None:
    _log.warning("jobs are queued that no registered class runs", names=" ".join(names))


def server_stops(reason: str) -> None:
    _log.info("server stops", reason=reason)


def _moment(at: float | None, zone: tzinfo) -> str:
    return "none" if at is None else datetime.fromtimestamp(at, zone).isoformat(" ", "seconds")
