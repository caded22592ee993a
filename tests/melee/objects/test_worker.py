"""The object worker as a process of its own: many callers, rude callers, dying callers, signals."""

import contextlib
import os
import resource
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from melee import shape
from melee.clock import SystemClock
from melee.errors import MeleeError, ObjectCallError, ObjectUnavailable, OutcomeUnknown, Overloaded, ShapeError
from melee.objects.client import Client
from melee.objects.connection import HELD_BYTES_AT_MOST
from melee.objects.files import file_of
from melee.objects.protocol import FRAME_AT_MOST, HEADER, request_frame
from melee.objects.request import Call, ObjectRef
from melee.objects.worker import CALLERS_AT_MOST, allow_many_descriptors
from melee.testing import WorkerUnderTest

APP = '''
import os, time
from melee import App, Durable

app = App(__name__)


class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class Counter(Durable):
    def add(self, by=1):
        self.storage.put("count", self.storage.get("count", 0) + by)
        return self.storage.get("count")

    def value(self):
        return self.storage.get("count", 0)

    def wait_for(self, path):
        """Says that it runs by making a file, and goes on when another appears."""
        open(path + ".runs", "w").close()
        while not os.path.exists(path):
            time.sleep(0.001)
        return self.add()

    def fail(self, how):
        if how == "half an emoji":
            raise ValueError("\\ud800")
        raise Silent

    def pid(self):
        return os.getpid()

    def exit(self):
        os._exit(3)

    def echo(self, text):
        return text

    def large(self, size):
        return "x" * size

    def arm(self, seconds):
        self.timer(after=seconds)

    def on_timer(self):
        self.add(100)


class DiesInTimer(Durable):
    def arm(self, path):
        self.storage.put("path", path)
        self.timer(after=0)

    def on_timer(self):
        self.storage.put("tries", self.tries() + 1)
        if not os.path.exists(self.storage.get("path")):
            os._exit(3)

    def tries(self):
        return self.storage.get("tries", 0)


class DiesAfterACall(Durable):
    def arm(self, path):
        self.storage.put("path", path)
        self.timer(after=0)

    def on_timer(self):
        self.storage.put("before", self.count("before") + 1)
        Counter.get("called").add()
        self.storage.put("after", self.count("after") + 1)
        if not os.path.exists(self.storage.get("path")):
            os._exit(3)

    def count(self, key):
        return self.storage.get(key, 0)
'''


@pytest.fixture
def app(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "app.py").write_text(APP)
    return folder


@pytest.fixture
def worker(app: Path, tmp_path: Path) -> Iterator[WorkerUnderTest]:
    with WorkerUnderTest(app, data=tmp_path / "data") as worker:
        yield worker


def counter(worker: WorkerUnderTest, id: str = "a") -> Any:
    return worker.classes["Counter"].get(id)


def connected(worker: WorkerUnderTest) -> socket.socket:
    caller = socket.socket(socket.AF_UNIX)
    caller.settimeout(30)
    caller.connect(str(worker.project.socket))
    return caller


def frame(method: str, *arguments: Any, id: str = "a") -> bytes:
    return request_frame(Call("Counter", id, method, msgspec.Raw(msgspec.json.encode(arguments))))


def answer(caller: socket.socket) -> Any:
    received = b""
    while len(received) < HEADER.size or len(received) < HEADER.size + HEADER.unpack(received[: HEADER.size])[0]:
        part = caller.recv(65536)
        if not part:
            return "hung up"
        received += part
    return msgspec.json.decode(received[HEADER.size :])


def wait_until(happened: Callable[[], object]) -> None:
    """Looks again and again, for events that nothing but their effect announces."""
    clock = SystemClock()
    deadline = clock.elapsed() + 30
    while not happened():
        assert clock.elapsed() < deadline, "it did not happen within 30 s"


def wait_until_it_runs(path: Path) -> None:
    """The file is made by the method under test."""
    wait_until(path.with_name(path.name + ".runs").exists)


def test_objects_live_in_a_process_of_their_own(worker: WorkerUnderTest) -> None:
    assert counter(worker).pid() == worker.process.pid != os.getpid()
    assert counter(worker).add(2) == 2
    assert (worker.classes["Counter"].list(), worker.classes["Counter"].count()) == (["a"], 1)
    assert worker.classes["Counter"].destroy("a") is True
    assert counter(worker).value() == 0


def test_many_callers_at_once_are_all_served_and_none_is_lost(worker: WorkerUnderTest) -> None:
    def add_some(_number: int) -> None:
        for _ in range(20):
            counter(worker).add()

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(add_some, range(32)))
    assert counter(worker).value() == 640


def test_a_thousand_callers_are_served_or_refused_and_never_hang(worker: WorkerUnderTest) -> None:
    allow_many_descriptors()
    callers = [connected(worker) for _ in range(CALLERS_AT_MOST + 50)]
    for caller in callers:
        try:
            caller.sendall(frame("add"))
        except BrokenPipeError:
            continue
    answers = [answer(caller) for caller in callers]
    served = [each for each in answers if each[0] == "returned"]
    refused = [each for each in answers if each[0] == "failed" and each[1] == Overloaded.__name__]
    assert (len(served), len(refused)) == (CALLERS_AT_MOST, 50)
    with pytest.raises(Overloaded, match="1000 callers are waiting already"):
        counter(worker).value()
    for caller in callers:
        caller.close()
    assert _until_served(worker) == CALLERS_AT_MOST


def test_a_worker_without_descriptors_refuses_and_serves_again_when_it_has_some(worker: WorkerUnderTest) -> None:
    pid = worker.process.pid
    assert counter(worker).add() == 1
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (_descriptors_open(pid) + 3, limits[1]))
    callers = [connected(worker) for _ in range(8)]
    for caller in callers[:3]:
        caller.sendall(frame("add"))
    assert [answer(caller)[0] for caller in callers] == ["returned"] * 3 + ["failed"] * 5
    for caller in callers:
        caller.close()
    assert _until_served(worker) == 4


def _descriptors_open(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def test_requests_that_never_arrive_whole_take_no_more_memory_than_there_is(worker: WorkerUnderTest) -> None:
    admitted = HELD_BYTES_AT_MOST // shape.BYTES_AT_MOST
    callers = [connected(worker) for _ in range(admitted + 2)]
    for caller in callers:
        caller.sendall(HEADER.pack(shape.BYTES_AT_MOST) + b"[")
    refused = callers[admitted:]
    for caller in refused:
        assert answer(caller)[:2] == ["failed", Overloaded.__name__]
        with contextlib.suppress(ConnectionResetError):
            assert caller.recv(1) == b""
    assert counter(worker).add() == 1
    for caller in callers:
        caller.close()
    assert len(counter(worker).echo("x" * 20_000_000)) == 20_000_000


def test_answers_that_nobody_reads_take_no_more_memory_than_there_is(worker: WorkerUnderTest) -> None:
    callers = [connected(worker) for _ in range(24)]
    for caller in callers:
        caller.sendall(frame("large", 30_000_000))
    for caller in callers[12:]:
        assert answer(caller)[:2] == ["failed", Overloaded.__name__]
    with pytest.raises(Overloaded, match=r"Counter/a\.add was refused: \d+,\d+,\d+ bytes of requests and answers"):
        counter(worker).add()
    assert _memory_at_most(worker.process.pid) < 2 * HELD_BYTES_AT_MOST
    for caller in callers:
        caller.close()
    wait_until(lambda: _until_served(worker) == 0)


def _memory_at_most(pid: int) -> int:
    """The most memory that a process has had so far, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def _until_served(worker: WorkerUnderTest) -> int:
    """The value, once the worker has noticed that the callers are gone."""
    for _ in range(1000):
        try:
            value: int = counter(worker).value()
        except Overloaded:
            continue
        return value
    raise AssertionError("the callers are gone and the worker still refuses")


def test_a_large_answer_and_a_large_argument_pass_and_more_is_refused(worker: WorkerUnderTest) -> None:
    assert len(counter(worker).large(20_000_000)) == 20_000_000
    with pytest.raises(ShapeError, match=r"Counter\.large result: 34,\d+,\d+ bytes encoded"):
        counter(worker).large(34_000_000)
    with pytest.raises(ShapeError, match=r"Counter\.add argument 1: 34,"):
        counter(worker).add("x" * 34_000_000)
    assert counter(worker).add() == 1


@pytest.mark.parametrize(
    "rubbish",
    [
        struct.pack(">I", FRAME_AT_MOST + 1),
        HEADER.pack(4) + b"null",
        HEADER.pack(3) + b"\xff\xfe\xfd",
        HEADER.pack(9) + b'["nope",1',
        HEADER.pack(200_000) + b"[" * 200_000,
    ],
    ids=["too long", "no request", "no text", "no JSON", "too deep"],
)
def test_rubbish_closes_its_own_connection_and_no_other(worker: WorkerUnderTest, rubbish: bytes) -> None:
    counter(worker).add()
    with connected(worker) as rude:
        rude.sendall(rubbish)
        # What the worker did not read of it makes the end a reset.
        with contextlib.suppress(ConnectionResetError):
            assert answer(rude) == "hung up"
    assert counter(worker).add() == 2


def test_a_request_that_arrives_byte_by_byte_is_served(worker: WorkerUnderTest) -> None:
    with connected(worker) as slow:
        for byte in frame("add"):
            slow.sendall(bytes([byte]))
        assert answer(slow) == ["returned", 1]


def test_a_caller_that_reads_slowly_holds_up_nobody(worker: WorkerUnderTest) -> None:
    with connected(worker) as slow:
        slow.sendall(frame("large", 20_000_000))
        assert counter(worker).add() == 1
        assert len(answer(slow)[1]) == 20_000_000


def test_a_call_whose_caller_has_gone_is_not_begun(worker: WorkerUnderTest, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with connected(worker) as busy:
        busy.sendall(frame("wait_for", str(go)))
        wait_until_it_runs(go)
        with connected(worker) as gone:
            gone.sendall(frame("add", 1000))
        go.touch()
        assert answer(busy) == ["returned", 1]
    assert counter(worker).value() == 1


def test_a_killed_worker_leaves_the_running_call_unknown_and_the_waiting_ones_unbegun(
    worker: WorkerUnderTest, tmp_path: Path
) -> None:
    go = tmp_path / "never"
    errors: dict[str, MeleeError] = {}

    def call(name: str, method: str, *arguments: Any) -> None:
        try:
            getattr(counter(worker), method)(*arguments)
        except MeleeError as error:
            errors[name] = error

    running = threading.Thread(target=call, args=("running", "wait_for", str(go)))
    running.start()
    wait_until_it_runs(go)
    # A caller whose request is in the kernel when the worker dies: it is sent before the kill.
    client = Client(worker.project.socket, SystemClock())
    with connected(worker) as waiting:
        waiting.sendall(frame("add"))
        worker.kill()
        with pytest.raises(ConnectionResetError):
            waiting.recv(1)
    running.join(timeout=1)
    assert not running.is_alive()
    call("late", "add")
    assert {name: type(error) for name, error in errors.items()} == {
        "running": OutcomeUnknown,
        "late": ObjectUnavailable,
    }
    client.close()


def test_a_method_that_ends_the_process_leaves_its_outcome_unknown(worker: WorkerUnderTest) -> None:
    with pytest.raises(OutcomeUnknown):
        counter(worker).exit()
    assert worker.process.wait(timeout=10) == 3


def test_a_client_finds_the_next_worker_without_losing_a_call(app: Path, tmp_path: Path) -> None:
    with WorkerUnderTest(app, data=tmp_path / "data") as first:
        client = Client(first.project.socket, SystemClock())
        call = Call("Counter", "a", "add", msgspec.Raw(b"[]"))
        assert client.ask(call) == b"1"
        first.kill()
        with pytest.raises(ObjectUnavailable, match="no object worker listens"):
            client.ask(call)
        with WorkerUnderTest(app, data=tmp_path / "data") as second:
            assert client.ask(call) == b"2"
            second.kill()
        with WorkerUnderTest(app, data=tmp_path / "data"):
            assert client.ask(call) == b"3"
        client.close()


@pytest.mark.parametrize(
    ("how", "message"), [("half an emoji", "\\ud800"), ("silence", "<str() of this Silent failed>")]
)
def test_an_error_that_cannot_be_told_ends_its_call_and_not_the_worker(
    worker: WorkerUnderTest, how: str, message: str
) -> None:
    with pytest.raises(ObjectCallError) as raised:
        counter(worker).fail(how)
    assert raised.value.message == message
    assert counter(worker).add() == 1


def test_a_worker_with_much_to_say_goes_on(worker: WorkerUnderTest) -> None:
    for _ in range(300):
        with pytest.raises(ObjectCallError):
            counter(worker).fail("silence")
    assert counter(worker).add() == 1


def test_a_terminated_worker_ends_well_and_answers_what_it_runs(worker: WorkerUnderTest, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with connected(worker) as busy:
        busy.sendall(frame("wait_for", str(go)))
        wait_until_it_runs(go)
        worker.process.send_signal(signal.SIGTERM)
        go.touch()
        assert answer(busy) == ["returned", 1]
    assert worker.process.wait(timeout=10) == 0
    assert not worker.project.socket.exists()


def test_a_timer_fires_although_nobody_calls(worker: WorkerUnderTest) -> None:
    counter(worker).arm(0.05)
    wait_until(counter(worker).value)
    assert counter(worker).value() == 100


def test_a_timer_killed_before_its_commit_fires_again_and_its_first_writes_are_absent(
    app: Path, tmp_path: Path
) -> None:
    calm = tmp_path / "calm"
    with WorkerUnderTest(app, data=tmp_path / "data") as worker:
        worker.classes["DiesInTimer"].get("a").arm(str(calm))  # type: ignore[attr-defined]
        assert worker.process.wait(timeout=10) == 3
    calm.touch()
    with WorkerUnderTest(app, data=tmp_path / "data") as worker:
        handle: Any = worker.classes["DiesInTimer"].get("a")
        wait_until(handle.tries)
        assert handle.tries() == 1


def test_a_timer_killed_after_it_called_another_object_keeps_what_it_wrote_before_that(
    app: Path, tmp_path: Path
) -> None:
    calm = tmp_path / "calm"
    with WorkerUnderTest(app, data=tmp_path / "data") as worker:
        worker.classes["DiesAfterACall"].get("a").arm(str(calm))  # type: ignore[attr-defined]
        assert worker.process.wait(timeout=10) == 3
    calm.touch()
    with WorkerUnderTest(app, data=tmp_path / "data") as worker:
        handle: Any = worker.classes["DiesAfterACall"].get("a")
        wait_until(lambda: handle.count("after"))
        assert (handle.count("before"), counter(worker, "called").value(), handle.count("after")) == (2, 2, 1)


def test_a_timer_that_ends_the_process_again_and_again_does_not_starve_the_others(app: Path, tmp_path: Path) -> None:
    with WorkerUnderTest(app, data=tmp_path / "data") as worker:
        handle: Any = worker.classes["DiesInTimer"].get("a")
        handle.arm(str(tmp_path / "never"))
        assert worker.process.wait(timeout=10) == 3
    with WorkerUnderTest(app, data=tmp_path / "data") as worker:
        assert worker.process.wait(timeout=10) == 3
    with WorkerUnderTest(app, data=tmp_path / "data") as worker:
        # It is tried again two seconds after the second time, so there is time for the others.
        counter(worker).arm(0)
        wait_until(counter(worker).value)
        assert worker.process.poll() is None


def test_an_idle_object_is_unloaded_although_nobody_calls(app: Path, tmp_path: Path) -> None:
    (app / "melee.toml").write_text("[objects]\nidle_seconds = 0.1\n")
    with WorkerUnderTest(app, data=tmp_path / "data") as worker:
        counter(worker).add()
        log = Path(f"{file_of(worker.project.data / 'objects', ObjectRef('Counter', 'a'))}-wal")
        wait_until(lambda: not log.exists())
        assert counter(worker).add() == 2


def test_a_data_folder_with_a_long_path_is_served(app: Path, tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100) / ("y" * 100)
    with WorkerUnderTest(app, data=deep) as worker:
        assert counter(worker).add() == 1
