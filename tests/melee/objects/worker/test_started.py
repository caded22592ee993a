"""A worker that a server starts: it says how it goes, takes over from the one before, and ends in time."""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec
import pytest

from melee.clock import SystemClock
from melee.objects.client import Client
from melee.objects.listener import listen
from melee.objects.request import Call
from melee.processes.report import Failed, Listening, Loaded, Stopped
from tests.melee.gate import Gate
from tests.melee.objects.worker.calling import answer, frame
from tests.melee.objects.worker.started import Started

Start = Callable[..., Started]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "objects.sock"


@pytest.fixture
def start(app: Path, tmp_path: Path, path: Path) -> Iterator[Start]:
    """Starts a worker on a socket that all of the test's workers share."""
    with ExitStack() as stack, closing(listen(path)) as listening:
        yield lambda *options: stack.enter_context(Started(app, tmp_path / "data", listening.fileno(), *options))


def serving(started: Started) -> Started:
    assert started.report() == Loaded()
    assert isinstance(started.report(), Listening)
    return started


def connected(path: Path) -> socket.socket:
    caller = socket.socket(socket.AF_UNIX)
    caller.settimeout(30)
    caller.connect(str(path))
    return caller


def called(path: Path, method: str) -> bytes:
    with closing(Client(path, SystemClock())) as client:
        return client.ask(Call("Counter", "a", method, msgspec.Raw(b"[]")))


def test_a_worker_says_when_it_is_needed_next_and_that_it_has_stopped(start: Start, path: Path, gate: Gate) -> None:
    worker = start()
    assert [worker.report(), worker.report()] == [Loaded(), Listening(None)]
    with connected(path) as caller:
        for seconds in (60, 3600):
            before = SystemClock().now()
            caller.sendall(frame("arm", seconds, gate.path))
            assert answer(caller) == ["returned", None]
            told = worker.report()
            assert isinstance(told, Listening)
            assert told.next_wake_at
            assert before + seconds <= told.next_wake_at <= SystemClock().now() + seconds
            # Nothing that leaves the timer alone is worth a word.
            caller.sendall(frame("add"))
            answer(caller)
            wake_at = told.next_wake_at
    worker.stop()
    assert worker.report() == Stopped(wake_at)
    assert worker.exit_code() == 0
    assert path.exists()


def test_a_call_waits_while_one_worker_ends_and_the_next_starts(start: Start, path: Path) -> None:
    first = serving(start())
    assert called(path, "add") == b"1"
    first.stop()
    assert first.exit_code() == 0
    with connected(path) as caller:
        caller.sendall(frame("add"))
        serving(start())
        assert answer(caller) == ["returned", 2]


def test_the_next_worker_loads_the_app_while_the_one_before_serves(start: Start, path: Path, gate: Gate) -> None:
    first, second = serving(start()), start()
    assert second.report() == Loaded()
    assert called(path, "pid") == str(first.process.pid).encode()
    with connected(path) as busy:
        busy.sendall(frame("add_after", gate.path))
        with gate.reached():
            first.stop()
        assert answer(busy) == ["returned", 1]
    assert second.report() == Listening(None)
    assert called(path, "pid") == str(second.process.pid).encode()
    assert called(path, "value") == b"1"


def test_a_caller_that_reads_slowly_has_its_answer_and_does_not_hold_up_the_next_worker(
    start: Start, path: Path
) -> None:
    first = serving(start("--grace", "60"))
    with connected(path) as slow:
        slow.sendall(frame("large", 20_000_000))
        assert called(path, "add") == b"1"
        first.stop()
        serving(start())
        assert called(path, "add") == b"2"
        assert first.process.poll() is None
        assert len(answer(slow)[1]) == 20_000_000
    assert isinstance(first.report(), Stopped)
    assert first.exit_code() == 0


def test_a_caller_that_does_not_read_at_all_has_the_grace_time_and_no_more(start: Start, path: Path) -> None:
    worker = serving(start("--grace", "0.2"))
    with connected(path) as slow:
        slow.sendall(frame("large", 20_000_000))
        assert called(path, "add") == b"1"
        worker.stop()
        assert worker.report() == Stopped(None)
        assert worker.exit_code() == 0
        assert answer(slow) == "hung up"


def test_a_call_that_does_not_end_ends_with_the_worker(start: Start, path: Path, gate: Gate) -> None:
    worker = serving(start("--grace", "0.2"))
    with connected(path) as busy:
        busy.sendall(frame("add_after", gate.path))
        with gate.reached():
            worker.stop()
            assert worker.exit_code() == -signal.SIGALRM
        assert answer(busy) == "hung up"
    serving(start())
    assert called(path, "value") == b"0"


def test_a_worker_that_cannot_serve_says_why_in_one_line(start: Start, app: Path) -> None:
    (app / "app.py").write_text("import nothing_of_the_kind")
    worker = start()
    told = worker.report()
    assert isinstance(told, Failed)
    assert "app.py:1: ModuleNotFoundError" in told.problem
    assert worker.exit_code() == 1


def test_an_app_that_ends_the_process_while_it_loads_is_a_failure(start: Start, app: Path) -> None:
    (app / "app.py").write_text("raise SystemExit(0)")
    worker = start()
    told = worker.report()
    assert isinstance(told, Failed)
    assert told.problem.endswith("SystemExit: 0")
    assert worker.exit_code() == 1


def test_what_melee_did_not_foresee_is_a_failure_too(start: Start, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "objects").write_text("no folder")
    worker = start()
    assert worker.report() == Loaded()
    told = worker.report()
    assert isinstance(told, Failed)
    assert told.problem.startswith("FileExistsError: ")
    assert worker.exit_code() == 1


def test_a_worker_ends_when_its_server_does(start: Start) -> None:
    worker = serving(start())
    worker.hang_up()
    assert worker.exit_code() == 0


def test_a_worker_does_not_begin_when_its_parent_is_gone_already(start: Start) -> None:
    assert start("--parent", "1").exit_code() == -signal.SIGTERM


def test_a_worker_that_is_killed_has_no_last_word(start: Start) -> None:
    worker = serving(start())
    worker.process.kill()
    with pytest.raises(EOFError):
        worker.report()
