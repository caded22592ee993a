"""What a worker tells its server: a line when something changed, and no wait for a server that does not listen."""

import os
from collections.abc import Iterator
from contextlib import suppress

import msgspec
import pytest

from melee.processes.report import Failed, Listening, Loaded, Report, Reports, Stopped, failed, read_report


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Both ends; a test may close either."""
    ends = os.pipe()
    yield ends
    for end in ends:
        with suppress(OSError):
            os.close(end)


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (Loaded(), b'{"state":"loaded"}\n'),
        (Listening(None), b'{"state":"listening","next_wake_at":null}\n'),
        (Stopped(1893456000.5), b'{"state":"stopped","next_wake_at":1893456000.5}\n'),
        (Failed("no app.py"), b'{"state":"failed","problem":"no app.py"}\n'),
    ],
)
def test_a_report_is_a_line_that_the_server_reads_back(pipe: tuple[int, int], report: Report, line: bytes) -> None:
    Reports(pipe[1]).tell(report)
    told = os.read(pipe[0], 65536)
    assert told == line
    assert read_report(told) == report


def test_what_was_told_last_is_not_told_again(pipe: tuple[int, int]) -> None:
    reports = Reports(pipe[1])
    for report in (Listening(None), Listening(None), Listening(1e9), Listening(1e9), Listening(None)):
        reports.tell(report)
    lines = os.read(pipe[0], 65536).splitlines()
    assert [read_report(line) for line in lines] == [Listening(None), Listening(1e9), Listening(None)]


def test_a_server_that_does_not_read_holds_nobody_up_and_is_told_later(pipe: tuple[int, int]) -> None:
    os.set_blocking(pipe[1], False)
    with suppress(BlockingIOError):
        while True:
            os.write(pipe[1], b"x" * 65536)
    os.set_blocking(pipe[1], True)
    reports = Reports(pipe[1])
    reports.tell(Listening(None), wait_seconds=0)
    os.set_blocking(pipe[0], False)
    with suppress(BlockingIOError):
        while os.read(pipe[0], 65536).strip(b"x") == b"":
            pass
    reports.tell(Listening(None), wait_seconds=0)
    assert read_report(os.read(pipe[0], 65536)) == Listening(None)


def test_a_server_that_is_gone_is_a_broken_pipe(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])
    with pytest.raises(BrokenPipeError):
        Reports(pipe[1]).tell(Loaded())


def test_without_a_server_nothing_is_told() -> None:
    Reports().tell(Loaded())
    assert Reports().descriptor is None


def test_a_line_that_is_no_report_is_refused() -> None:
    with pytest.raises(msgspec.MsgspecError):
        read_report(b'{"state":"asleep"}')


def test_a_problem_of_many_lines_is_one_that_the_pipe_takes_whole() -> None:
    assert failed("first\n  second") == Failed("first second")
    assert len(failed("x" * 100_000).problem) == 1000
