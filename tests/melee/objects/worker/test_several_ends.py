"""The end of one of several workers: the calls between them go on, here or in the worker that takes its place."""

import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from melee.errors import OutcomeUnknown
from melee.processes.report import Listening, Loaded
from tests.melee.gate import Gate
from tests.melee.objects.worker.several import Several, several

pytestmark = pytest.mark.slow


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


def test_a_worker_whose_loop_fails_ends_what_is_under_way_for_others_before_it_lets_go_of_its_objects(
    two: Several, gate: Gate
) -> None:
    first, _second = two.workers
    path = [two.id_in(0), two.id_in(1, but=1)]
    with ThreadPoolExecutor(2) as callers:
        calling = callers.submit(two.get("Node", two.id_in(1)).relay, path, gate.path, [])
        with gate.reached():
            interrupting = callers.submit(two.get("Node", two.id_in(0, but=1)).interrupt)
            with pytest.raises(subprocess.TimeoutExpired):
                first.process.wait(timeout=0.5)
        assert calling.result(timeout=25) == [path[1]]
        assert isinstance(interrupting.exception(timeout=25), OutcomeUnknown)
    assert first.exit_code() not in (0, -signal.SIGALRM)


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


def test_a_worker_that_others_call_without_a_pause_is_replaced(nodes: Path, tmp_path: Path) -> None:
    """Before one of their calls has ended there, another is waiting."""
    is_over = tmp_path / "is over"
    with several(nodes, tmp_path / "data", 3) as three, ThreadPoolExecutor(2) as pool:
        callers = [three.get("Node", three.id_in(number)) for number in (0, 2)]
        # There they take longer than their callers need for the next.
        paths = [[three.id_in(1, but=first + n) for n in range(10)] for first in (0, 10)]
        calling = [
            pool.submit(caller.ask_until, str(is_over), path) for caller, path in zip(callers, paths, strict=True)
        ]
        try:
            for _ in range(2):
                before, three.workers[1] = three.workers[1], three.start(1)
                assert three.workers[1].report() == Loaded()
                before.stop()
                assert before.exit_code() == 0
                assert isinstance(three.workers[1].report(), Listening)
        finally:
            is_over.touch()
        made = [call.result(timeout=30) for call in calling]
        assert min(made) > 0
        assert [three.get("Node", path[0]).times() for path in paths] == [[calls, calls] for calls in made]
