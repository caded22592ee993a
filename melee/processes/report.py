"""What a worker, of objects or of jobs, tells the server that started it: a JSON line whenever something changed.

A worker writes `Loaded` when the app is imported, `Listening` when it serves and again whenever the moment at which
it is needed next is another one, and `Stopped` as its last word, when all is on disk and closed. One that cannot serve
writes `Failed`. One that ends without a last word was killed, or told to stop before it served.
"""

import os
import select

import msgspec


class Loaded(msgspec.Struct, tag_field="state", tag="loaded", frozen=True):
    """The app is imported; an object worker waits for the data folder, if need be."""


class Listening(msgspec.Struct, tag_field="state", tag="listening", frozen=True):
    """The worker serves. `next_wake_at` is when it has a timer to fire or a job to run, in epoch seconds: the past
    while it has something to do, None when nothing is to come."""

    next_wake_at: float | None


class Stopped(msgspec.Struct, tag_field="state", tag="stopped", frozen=True):
    """The worker has ended in order. Somebody must start one at `next_wake_at`, in epoch seconds."""

    next_wake_at: float | None


class Failed(msgspec.Struct, tag_field="state", tag="failed", frozen=True):
    """The worker cannot serve; `problem` is one line."""

    problem: str


Report = Loaded | Listening | Stopped | Failed

_WAIT_SECONDS = 10
_PROBLEM_CHARACTERS_AT_MOST = 1000
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Report)


def failed(problem: str) -> Failed:
    """The report of a problem in any number of lines, shortened to what a pipe takes at once."""
    return Failed(" ".join(problem.split())[:_PROBLEM_CHARACTERS_AT_MOST])


def read_report(line: bytes) -> Report:
    """The report in a line; `msgspec.MsgspecError` when it is none."""
    report: Report = _decoder.decode(line)
    return report


class Reports:
    """The worker's end of the pipe to its server. Without a descriptor nobody listens, and nothing is written."""

    def __init__(self, descriptor: int | None = None) -> None:
        self._descriptor = descriptor
        self._told: Report | None = None

    @property
    def descriptor(self) -> int | None:
        """It becomes readable when the server is gone."""
        return self._descriptor

    def tell(self, report: Report, wait_seconds: float = _WAIT_SECONDS) -> None:
        """Writes a report, unless it is the last one again. It is dropped when the pipe has no room within
        `wait_seconds`, and not counted as told.

        Raises:
            BrokenPipeError: the server is gone.
        """
        if self._descriptor is None or report == self._told:
            return
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        if poll.poll(wait_seconds * 1000):
            os.write(self._descriptor, _encoder.encode(report) + b"\n")
            self._told = report
