"""How what melee announces looks, and where it goes; `log` has the words.

Nothing is written before `to_lines` or `to_json` is called but warnings and errors, which go to standard error.
"""

import logging
import os
import sys
import traceback
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import IO, Any

# structlog imports rich where it is installed, for colours that melee has no use for, and that is half of what a worker
# imports. It does without as long as rich cannot be found.
_hides_rich = "rich" not in sys.modules
if _hides_rich:
    sys.modules["rich"] = None  # type: ignore[assignment]

import structlog as structlog  # noqa: E402
from structlog.typing import FilteringBoundLogger as FilteringBoundLogger  # noqa: E402

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
