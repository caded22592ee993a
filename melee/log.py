"""What melee announces, and how it looks: the logic calls a function here, this module chooses the words.

`to_lines()` is for a person at a terminal (`melee dev`), `to_json()` for a log collector. Nothing is written before
one of them is called but warnings and errors, which go to standard error.
"""

import logging
import sys
import traceback
from collections.abc import Mapping, MutableMapping
from typing import IO, Any

import structlog
from structlog.typing import FilteringBoundLogger

_Event = MutableMapping[str, Any]


def to_lines(stream: IO[str] = sys.stdout) -> None:
    """A line an event: its words, then its fields; a traceback below it."""
    _configure(stream, logging.INFO, _as_line)


def to_json(stream: IO[str] = sys.stdout) -> None:
    """A JSON object a line, with `level` and `timestamp` in UTC."""
    _configure(stream, logging.INFO, structlog.processors.JSONRenderer(ensure_ascii=False))


def _configure(stream: IO[str], level: int, render: Any) -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _with_traceback,
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=stream),  # type: ignore[arg-type]
        cache_logger_on_first_use=False,
    )


def _with_traceback(_logger: Any, _name: str, event: _Event) -> _Event:
    error = event.pop("raised", None)
    if isinstance(error, BaseException):
        event["error"] = f"{type(error).__name__}: {error}"
        event["traceback"] = "".join(traceback.format_exception(error))
    return event


def _as_line(_logger: Any, _name: str, event: Mapping[str, Any]) -> str:
    fields = dict(event)
    words, trace = fields.pop("event"), fields.pop("traceback", "")
    level = fields.pop("level")
    fields.pop("timestamp")
    named = " ".join(f"{name}={value}" for name, value in fields.items())
    prefix = "" if level == "info" else f"{level}: "
    return "\n".join(filter(None, [" ".join(filter(None, [f"{prefix}{words}", named])), trace.rstrip()]))


_configure(sys.stderr, logging.WARNING, _as_line)
_log: FilteringBoundLogger = structlog.get_logger()


def of_object(name: str) -> FilteringBoundLogger:
    """The logger an object has as `self.log`: what it writes carries `object=Class/id`."""
    bound: FilteringBoundLogger = structlog.get_logger().bind(object=name)
    return bound


def timer_fired(name: str) -> None:
    _log.info(f"timer {name} -> on_timer")


def timer_failed(name: str, error: BaseException) -> None:
    _log.error(f"timer {name} -> on_timer raised; it is not set again", raised=error)


def timer_waits(name: str, error: BaseException) -> None:
    _log.error(f"timer {name} is due but the object cannot be loaded; tried again later", raised=error)


def call_failed(name: str, method: str, error: BaseException) -> None:
    _log.warning(f"call {name}.{method} raised", raised=error)


def commit_failed(name: str, error: BaseException) -> None:
    _log.error(f"commit of {name} failed; its instance is dropped", raised=error)


def index_not_settled(error: BaseException) -> None:
    _log.error("the registry of objects cannot be written; it is early until it can", raised=error)


def registry_rebuilt(objects: int) -> None:
    _log.warning("the registry of objects was rebuilt from their files", objects=objects)


def file_unreadable(path: str, error: BaseException) -> None:
    _log.error("this object's file cannot be read; it is left out", file=path, error=str(error))


def worker_listens(path: str, pid: int) -> None:
    _log.info("object worker listens", socket=path, pid=pid)


def worker_stops(reason: str) -> None:
    _log.info("object worker stops", reason=reason)


def frame_refused(problem: str) -> None:
    _log.warning("a connection sent what is no request; closed", problem=problem)
