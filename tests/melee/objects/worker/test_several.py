"""Two workers that share an app's objects: who owns what, calls across, and what the loss of one means."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from melee.clock import SystemClock
from melee.errors import AlreadyRunning, Deadlock, ObjectCallError, ObjectError, OutcomeUnknown
from melee.objects.files import file_of
from melee.objects.request import CHAIN_AT_MOST, ObjectRef
from melee.objects.shard import Shard
from melee.processes.report import Listening
from melee.store.lock import FolderLock
from melee.testing import AppUnderTest, ManualClock
from tests.melee.gate import Gate
from tests.melee.objects.worker.several import Several, several

pytestmark = pytest.mark.slow


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


@pytest.mark.parametrize("numbers", [(1, 2, 3, 1)])
def test_another_number_of_workers_keeps_every_object_and_timer(
    nodes: Path, tmp_path: Path, numbers: tuple[int, ...]
) -> None:
    ids = sorted(map(str, range(12)))
    for times, workers in enumerate(numbers):
        with several(nodes, tmp_path / "data", workers) as served:
            assert served.cls("Node").list() == (ids if times else [])
            for id in ids:
                node = served.get("Node", id)
                node.ask([])
                node.arm(3600)
                assert node.times() == [times + 1, times + 1]
    with AppUnderTest(nodes, data=tmp_path / "data", clock=ManualClock(SystemClock().now() + 4000)) as all_of_them:
        assert sorted(all_of_them.fire_due()) == sorted(f"Node/{id}" for id in ids)


def test_workers_of_layouts_that_overlap_keep_each_other_out(nodes: Path, tmp_path: Path) -> None:
    with several(nodes, tmp_path / "data", 2) as two:
        with pytest.raises(AlreadyRunning) as caught:
            AppUnderTest(nodes, data=tmp_path / "data").__enter__()
        assert caught.value.pid in {worker.process.pid for worker in two.workers}
        for shard, pids in ((Shard(0, 3), {0}), (Shard(1, 3), {0, 1}), (Shard(2, 3), {1})):
            with pytest.raises(AlreadyRunning) as caught:
                FolderLock(two.project.data, slots=shard.slots)
            assert caught.value.pid in {two.workers[number].process.pid for number in pids}
        two.workers[1].stop()
        two.workers[1].exit_code()
        FolderLock(two.project.data, slots=Shard(2, 3).slots).release()


def test_a_chain_over_workers_has_an_end(two: Several) -> None:
    """Each object of it keeps a thread waiting."""
    path = [two.id_in(number % 2, but=number) for number in range(CHAIN_AT_MOST + 1)]
    assert two.get("Node", path[1]).ask(path[2:]) == path[1:]
    with pytest.raises(ObjectCallError, match=f"{CHAIN_AT_MOST} objects wait for each other"):
        two.get("Node", path[0]).ask([*path[1:], two.id_in(1, but=CHAIN_AT_MOST + 1)])
