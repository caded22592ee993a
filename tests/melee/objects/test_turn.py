"""One thread at a time, in the order in which they came."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from melee.objects.turn import Turn


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def in_line(turn: Turn, threads: ThreadPoolExecutor, name: str, order: list[str]) -> "Future[None]":
    """A thread that waits for its turn when this returns."""
    waiting_before = len(turn._line)

    def take() -> None:
        with turn:
            order.append(name)

    taking = threads.submit(take)
    while len(turn._line) == waiting_before:
        pass
    return taking


def test_who_came_first_is_first_and_who_just_had_it_is_last(threads: ThreadPoolExecutor) -> None:
    turn, order = Turn(), list[str]()
    with turn:
        others = [in_line(turn, threads, name, order) for name in "abc"]
    with turn:
        order.append("again")
    for other in others:
        other.result(timeout=30)
    assert order == ["a", "b", "c", "again"]


def test_a_thread_may_take_the_turn_that_it_has(threads: ThreadPoolExecutor) -> None:
    turn = Turn()
    with turn, turn:
        assert not threads.submit(turn.take, 0.01).result(timeout=30)
    assert threads.submit(turn.take, 0.01).result(timeout=30)


def test_who_waited_long_enough_leaves_the_line(threads: ThreadPoolExecutor) -> None:
    turn, order = Turn(), list[str]()
    with turn:
        assert not threads.submit(turn.take, 0.01).result(timeout=30)
        other = in_line(turn, threads, "next", order)
    other.result(timeout=30)
    assert order == ["next"]


def test_a_turn_that_is_given_up_is_others_and_comes_back_as_often_as_it_was_taken(
    threads: ThreadPoolExecutor,
) -> None:
    turn, order = Turn(), list[str]()
    with turn, turn:
        other = in_line(turn, threads, "other", order)
        with turn.given_up():
            other.result(timeout=30)
            order.append("meanwhile")
        order.append("back")
        late = in_line(turn, threads, "late", order)
        assert order == ["other", "meanwhile", "back"]
    late.result(timeout=30)


def test_only_one_thread_runs_however_many_there_are(threads: ThreadPoolExecutor) -> None:
    turn, inside = Turn(), threading.Lock()

    def run_often() -> None:
        for _ in range(200):
            with turn:
                assert inside.acquire(blocking=False)
                inside.release()

    for running in [threads.submit(run_often) for _ in range(4)]:
        running.result(timeout=30)
