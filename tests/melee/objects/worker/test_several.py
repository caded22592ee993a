"""Two workers that share an app's objects: who owns what, calls across, and what the loss of one means."""

import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from melee.clock import SystemClock
from melee.errors import AlreadyRunning, Deadlock, ObjectCallError, ObjectError, OutcomeUnknown
from melee.objects.files import file_of
from melee.objects.report import Listening, Loaded
from melee.objects.request import ObjectRef
from melee.objects.running import CHAIN_AT_MOST
from melee.objects.shard import Shard
from melee.store.lock import FolderLock
from melee.testing import AppUnderTest, ManualClock
from tests.conftest import write_app
from tests.melee.gate import WAIT_AT, Gate
from tests.melee.objects.worker.several import Several, several

pytestmark = pytest.mark.slow

APP = '''
import os
import sqlite3
from melee import App, Durable

app = App(__name__)


class Node(Durable):
    def pid(self):
        self.storage.put("called", True)
        return os.getpid()

    def ask(self, path):
        """Calls the first of the path, which calls the next; returns who has been called."""
        self.storage.put("begun", self.storage.get("begun", 0) + 1)
        further = Node.get(path[0]).ask(path[1:]) if path else []
        self.storage.put("ended", self.storage.get("ended", 0) + 1)
        return [self.id, *further]

    def ask_after(self, gate, path):
        wait_at(gate)
        return self.ask(path)

    def relay(self, path, gate, further):
        """Passes a call on along the path, whose last object waits at the gate and calls further."""
        if len(path) == 1:
            return Node.get(path[0]).ask_after(gate, further)
        return Node.get(path[0]).relay(path[1:], gate, further)

    def times(self):
        return [self.storage.get("begun", 0), self.storage.get("ended", 0)]

    def ask_who_looks(self, id, file):
        self.storage.put("begun", 7)
        return Node.get(id).look(file)

    def look(self, file):
        return sqlite3.connect(file).execute("SELECT value FROM _melee_values WHERE key = 'begun'").fetchone()[0]

    def listed(self):
        return [Node.list(), Node.count()]

    def end(self, id):
        return Node.destroy(id)

    def end_caller(self, id):
        return Node.get(id).end(self.id)

    def exit(self):
        os._exit(3)

    def ask_who_exits(self, id):
        Node.get(id).exit()

    def arm_another(self, id, seconds):
        Node.get(id).arm(seconds)

    def arm(self, seconds):
        self.timer(after=seconds)

    def on_timer(self):
        self.storage.put("ended", self.storage.get("ended", 0) + 100)
'''


@pytest.fixture
def app(tmp_path: Path) -> Path:
    return write_app(tmp_path / "app", WAIT_AT + APP)


@pytest.fixture
def two(app: Path, tmp_path: Path) -> Iterator[Several]:
    with several(app, tmp_path / "data", 2) as workers:
        yield workers


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with Gate(tmp_path / "gate") as gate:
        yield gate


def test_each_object_lives_in_the_worker_that_owns_it(two: Several) -> None:
    for number, worker in enumerate(two.workers):
        for but in range(3):
            assert two.get("Node", two.id_in(number, but=but)).pid() == worker.process.pid


def test_list_and_count_are_of_all_workers(two: Several) -> None:
    ids = sorted(map(str, range(20)))
    for id in ids:
        two.get("Node", id).pid()
    assert (two.cls("Node").list(), two.cls("Node").count()) == (ids, 20)
    for worker in (0, 1):
        assert two.get("Node", two.id_in(worker)).listed() == [ids, 20]
    for worker in (0, 1):
        assert two.cls("Node").destroy(two.id_in(worker))
    assert two.cls("Node").count() == 18


def test_an_object_calls_another_wherever_that_is(two: Several) -> None:
    here, there = two.id_in(0), two.id_in(1)
    path = [there, two.id_in(0, but=1), two.id_in(1, but=1), two.id_in(1, but=2)]
    assert two.get("Node", here).ask(path) == [here, *path]
    assert two.get("Node", there).ask([here]) == [there, here]
    assert two.get("Node", here).times() == [2, 2]


def test_what_an_object_wrote_is_on_disk_before_its_call_leaves_for_another_worker(two: Several) -> None:
    here, there = two.id_in(0), two.id_in(1)
    file = str(file_of(two.project.data / "objects", ObjectRef("Node", here)))
    assert two.get("Node", here).ask_who_looks(there, file) == "7"


@pytest.mark.parametrize("hops", [1, 3])
def test_a_call_that_comes_back_over_workers_is_a_deadlock_that_names_the_whole_chain(two: Several, hops: int) -> None:
    path = [two.id_in(1, but=1), two.id_in(0, but=1), two.id_in(1, but=2)][:hops]
    first = two.id_in(0)
    with pytest.raises(Deadlock) as raised:
        two.get("Node", first).ask([*path, first])
    assert raised.value.chain == [f"Node/{id}" for id in (first, *path, first)]
    assert two.get("Node", first).times() == [1, 0]


def test_an_object_that_another_worker_ends_in_its_own_call_ends_when_that_has_ended(two: Several) -> None:
    here, there = two.id_in(0), two.id_in(1)
    two.get("Node", there).pid()
    assert two.get("Node", here).end_caller(there)
    assert two.cls("Node").list() == [there]


def test_workers_that_wait_for_each_other_about_different_objects_both_go_on(two: Several, gate: Gate) -> None:
    """Each has begun a call before either calls the other."""
    paths = [[two.id_in(0), two.id_in(1, but=1)], [two.id_in(1), two.id_in(0, but=1)]]
    assert sorted(crossing(two, gate, paths)) == sorted(paths)


def test_calls_that_wait_for_each_other_are_a_deadlock_at_once_and_harm_nobody(two: Several, gate: Gate) -> None:
    ends = [two.id_in(0), two.id_in(1)]
    outcomes = crossing(two, gate, [ends, ends[::-1]])
    # Which of the two sees it depends on who comes first; both may.
    refused = [outcome for outcome in outcomes if isinstance(outcome, Deadlock)]
    assert refused
    assert all(outcome in (ends, ends[::-1]) for outcome in outcomes if outcome not in refused)
    assert {tuple(outcome.chain) for outcome in refused} <= {
        tuple(f"Node/{id}" for id in (*ends, ends[0])),
        tuple(f"Node/{id}" for id in (*ends[::-1], ends[1])),
    }
    assert [two.get("Node", id).pid() for id in ends] == [worker.process.pid for worker in two.workers]


def crossing(workers: Several, gate: Gate, paths: list[list[str]]) -> list[Any]:
    """What becomes of calls along paths that all have begun before one of them goes on."""

    def called(path: list[str]) -> Any:
        try:
            return workers.get("Node", path[0]).ask_after(gate.path, path[1:])
        except ObjectError as error:
            return error

    with ThreadPoolExecutor(len(paths)) as callers:
        calls = [callers.submit(called, path) for path in paths]
        for waiting in [gate.reached() for _ in paths]:
            waiting.close()
        # Less than a call may take: nobody waits until it is too late.
        return [call.result(timeout=25) for call in calls]


def test_many_calls_across_in_all_directions_end_well(two: Several) -> None:
    ids = [two.id_in(worker, but=but) for but in range(4) for worker in (0, 1)]

    def call_often(start: int) -> int:
        """Along a path that climbs, so that no two calls can wait for each other."""
        for _ in range(20):
            assert two.get("Node", ids[start]).ask(ids[start + 1 :]) == ids[start:]
        return 20 * (len(ids) - start)

    with ThreadPoolExecutor(len(ids)) as callers:
        expected = sum(callers.map(call_often, range(len(ids))))
    times = [two.get("Node", id).times() for id in ids]
    assert sum(ended for _begun, ended in times) == expected
    assert all(begun == ended for begun, ended in times)


def test_timers_fire_in_every_worker(two: Several) -> None:
    for number in (0, 1):
        two.get("Node", two.id_in(number)).arm(0)
    for worker in two.workers:
        told = worker.report()
        while told != Listening(None):
            told = worker.report()
    assert [two.get("Node", two.id_in(number)).times() for number in (0, 1)] == [[0, 100], [0, 100]]


def test_a_timer_that_a_peer_sets_is_reported_and_fires(two: Several) -> None:
    before = SystemClock().now()
    assert two.get("Node", two.id_in(0)).arm_another(two.id_in(1), 3600) is None
    told = two.workers[1].report()
    assert isinstance(told, Listening)
    assert told.next_wake_at
    assert told.next_wake_at >= before + 3600
    two.get("Node", two.id_in(0)).arm_another(two.id_in(1), 0)
    while told != Listening(None):
        told = two.workers[1].report()
    assert two.get("Node", two.id_in(1)).times() == [0, 100]


def test_the_loss_of_one_worker_leaves_the_objects_of_the_other(two: Several) -> None:
    here = two.id_in(0)
    two.workers[1].process.kill()
    two.workers[1].process.wait()
    assert two.get("Node", here).ask([]) == [here]
    assert two.get("Node", here).times() == [1, 1]


def test_a_worker_that_is_lost_in_a_call_leaves_its_caller_in_another_worker_to_handle_that(two: Several) -> None:
    here, there = two.id_in(0), two.id_in(1)
    with pytest.raises(ObjectCallError) as raised:
        two.get("Node", here).ask_who_exits(there)
    assert raised.value.remote_type == OutcomeUnknown.__name__
    assert two.get("Node", here).ask([]) == [here]


def test_workers_that_stop_at_once_finish_the_calls_between_them(two: Several, gate: Gate) -> None:
    """A worker that waits for a peer serves its peers until that answers."""
    paths = [[two.id_in(0), two.id_in(1, but=1)], [two.id_in(1), two.id_in(0, but=1)]]
    with ThreadPoolExecutor(2) as callers:
        calls = [callers.submit(two.get("Node", path[0]).ask_after, gate.path, path[1:]) for path in paths]
        waiting = [gate.reached() for _ in paths]
        for worker in two.workers:
            worker.stop()
        for each in waiting:
            each.close()
        assert [call.result(timeout=30) for call in calls] == paths
    assert [worker.exit_code() for worker in two.workers] == [0, 0]


def test_a_worker_that_stops_serves_its_peers_as_long_as_it_waits_for_one(two: Several, gate: Gate) -> None:
    first, second = two.workers
    path, further = [two.id_in(0), two.id_in(1, but=1)], [two.id_in(0, but=1)]
    with ThreadPoolExecutor(1) as callers:
        calling = callers.submit(two.get("Node", two.id_in(1)).relay, path, gate.path, further)
        with gate.reached():
            first.stop()
            # With nothing to do of its own it would end now; a peer's call is under way in it.
            with pytest.raises(subprocess.TimeoutExpired):
                first.process.wait(timeout=0.5)
        assert calling.result(timeout=25) == [path[1], *further]
    assert first.exit_code() == 0
    assert second.process.poll() is None


@pytest.mark.parametrize("numbers", [(1, 2, 3, 1)])
def test_another_number_of_workers_keeps_every_object_and_timer(
    app: Path, tmp_path: Path, numbers: tuple[int, ...]
) -> None:
    ids = sorted(map(str, range(12)))
    for times, workers in enumerate(numbers):
        with several(app, tmp_path / "data", workers) as served:
            assert served.cls("Node").list() == (ids if times else [])
            for id in ids:
                node = served.get("Node", id)
                node.ask([])
                node.arm(3600)
                assert node.times() == [times + 1, times + 1]
    with AppUnderTest(app, data=tmp_path / "data", clock=ManualClock(SystemClock().now() + 4000)) as all_of_them:
        assert sorted(all_of_them.fire_due()) == sorted(f"Node/{id}" for id in ids)


def test_workers_of_layouts_that_overlap_keep_each_other_out(app: Path, tmp_path: Path) -> None:
    with several(app, tmp_path / "data", 2) as two:
        with pytest.raises(AlreadyRunning) as caught:
            AppUnderTest(app, data=tmp_path / "data").__enter__()
        assert caught.value.pid in {worker.process.pid for worker in two.workers}
        for shard, pids in ((Shard(0, 3), {0}), (Shard(1, 3), {0, 1}), (Shard(2, 3), {1})):
            with pytest.raises(AlreadyRunning) as caught:
                FolderLock(two.project.data, slots=shard.slots)
            assert caught.value.pid in {two.workers[number].process.pid for number in pids}
        two.workers[1].stop()
        two.workers[1].exit_code()
        FolderLock(two.project.data, slots=Shard(2, 3).slots).release()


def test_no_call_fails_while_both_workers_are_replaced(two: Several) -> None:
    paths = [[two.id_in(0), two.id_in(1, but=1)], [two.id_in(1), two.id_in(0, but=1)]]
    is_over, ended = threading.Event(), threading.Semaphore(0)

    def call_until_it_is_over(path: list[str]) -> int:
        calls = 0
        while not is_over.is_set():
            assert two.get("Node", path[0]).ask(path[1:]) == path
            calls += 1
            ended.release()
        return calls

    with ThreadPoolExecutor(len(paths)) as callers:
        calling = [callers.submit(call_until_it_is_over, path) for path in paths]
        try:
            for _ in range(2):
                before, two.workers = two.workers, [two.start(number) for number in (0, 1)]
                for worker in two.workers:
                    assert worker.report() == Loaded()
                for worker in before:
                    worker.stop()
                assert [worker.exit_code() for worker in before] == [0, 0]
                for _ in range(20):
                    assert ended.acquire(timeout=30)
        finally:
            is_over.set()
        made = [call.result(timeout=30) for call in calling]
    for path, calls in zip(paths, made, strict=True):
        assert [two.get("Node", id).times() for id in path] == [[calls, calls]] * 2


def test_a_chain_over_workers_has_an_end(two: Several) -> None:
    """Each object of it keeps a thread waiting."""
    path = [two.id_in(number % 2, but=number) for number in range(CHAIN_AT_MOST + 1)]
    assert two.get("Node", path[1]).ask(path[2:]) == path[1:]
    with pytest.raises(ObjectCallError, match=f"{CHAIN_AT_MOST} objects wait for each other"):
        two.get("Node", path[0]).ask([*path[1:], two.id_in(1, but=CHAIN_AT_MOST + 1)])
