"""Tests for `melee.jobs.crew`: what becomes of claims, whatever an executor does and whenever it ends.

The test is the executor: it reads frames, writes the board and answers, as far as it likes.
"""

import socket
from collections.abc import Iterator, Sequence

import pytest

from melee.clock import ManualClock
from melee.jobs.crew import Crew, Executor
from melee.jobs.frames import Begin, Board, Failed, Order, Ran, Run, Told, Unpacker, packed
from melee.jobs.store import Claim

PID = 4711


class Known:
    """What is known of claims, by their ids."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.failed: list[tuple[int, str]] = []
        self.cut: list[tuple[int, str]] = []
        self.left: list[int] = []
        self.seconds: dict[int, float] = {}

    def took(self, claim: Claim, seconds: float) -> None:
        self.seconds[claim.id] = seconds

    def succeeded(self, claims: Sequence[Claim]) -> None:
        self.done += [claim.id for claim in claims]

    def raised(self, claim: Claim, error: str, is_final: bool) -> None:
        self.failed.append((claim.id, error))

    def cut_off(self, claim: Claim, reason: str) -> None:
        self.cut.append((claim.id, reason))

    def untouched(self, claims: Sequence[Claim]) -> None:
        self.left += [claim.id for claim in claims]


class Hired:
    """A crew of one, whose executor is the test."""

    def __init__(self, connection: socket.socket, theirs: socket.socket) -> None:
        self.known, self.killed, self.clock, self.board = Known(), list[int](), ManualClock(), Board(1)
        self.crew = Crew(1, self.board, 0, self.clock, self.known, self.killed.append)
        self.executor: Executor = self.crew.add(PID, connection)
        self._theirs = theirs
        self._theirs.setblocking(False)
        self._told: Unpacker[Told] = Unpacker(Told)

    def give(self, *ids: int) -> None:
        self.crew.give(self.executor, [claim(id) for id in ids])

    def told(self) -> list[Told]:
        return self._told.receive(self._theirs) or []

    def says(self, answer: Ran | Failed) -> None:
        self._theirs.sendall(packed(answer))

    def hears(self, answer: Ran | Failed) -> None:
        self.says(answer)
        assert self.crew.hear(self.executor)

    def runs(self, *numbers: int) -> None:
        for number in numbers:
            assert self.board.begin(0, number, self.clock.elapsed())
            self.board.end(0, number)

    def begins(self, number: int) -> None:
        assert self.board.begin(0, number, self.clock.elapsed())

    def ends(self) -> Known:
        self._theirs.close()
        self.crew.lose(PID, "it died")
        return self.known


@pytest.fixture
def hired() -> Iterator[Hired]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Hired(ours, theirs)


def claim(id: int) -> Claim:
    return Claim(id, 1, "mail", "{}", 1, 5)


def test_it_is_told_its_line_and_what_to_run(hired: Hired) -> None:
    assert not hired.crew.lacks
    hired.give(7, 8)
    orders = [Order(7, "mail", "{}", 1), Order(8, "mail", "{}", 1)]
    assert hired.told() == [Begin(0), Run(orders)]


def test_it_has_a_frame_that_it_runs_and_one_more(hired: Hired) -> None:
    hired.give(1)
    assert hired.crew.free() == [hired.executor]
    hired.give(2)
    assert hired.crew.free() == []
    hired.hears(Ran([0.5]))
    assert hired.crew.free() == [hired.executor]
    assert (hired.known.done, hired.known.seconds) == ([1], {1: 0.5})


def test_all_but_those_that_failed_are_done_at_the_end_of_a_frame(hired: Hired) -> None:
    hired.give(1, 2, 3)
    hired.hears(Failed(2, "no route", False))
    assert hired.known.failed == [(2, "no route")]
    hired.hears(Ran([1.0, 2.0, 3.0]))
    assert hired.known.done == [1, 3]
    assert not hired.crew.is_busy


def test_it_is_seen_what_runs_and_for_how_long(hired: Hired) -> None:
    assert hired.crew.running(hired.executor) is None
    hired.give(1, 2)
    hired.runs(1)
    hired.begins(2)
    hired.clock.move(5)
    assert hired.crew.running(hired.executor) == (claim(2), 5)
    assert hired.crew.busy_seconds() == 5
    hired.board.end(0, 2)
    assert hired.crew.running(hired.executor) is None
    assert hired.crew.busy_seconds() == 0


def test_when_it_dies_only_the_job_that_ran_is_to_blame(hired: Hired) -> None:
    hired.give(1, 2, 3, 4)
    hired.give(5)
    hired.runs(1, 2)
    hired.says(Failed(2, "no route", False))
    hired.begins(3)
    known = hired.ends()
    assert (known.done, known.failed, known.cut, known.left) == ([1], [(2, "no route")], [(3, "it died")], [4, 5])
    assert hired.crew.lacks == 1


def test_when_it_dies_between_two_jobs_none_is_to_blame(hired: Hired) -> None:
    hired.give(1, 2)
    hired.runs(1)
    known = hired.ends()
    assert (known.done, known.cut, known.left) == ([1], [], [2])


def test_a_failure_that_was_told_counts_though_the_board_does_not_say_so_yet(hired: Hired) -> None:
    hired.give(1, 2)
    hired.begins(1)
    hired.says(Failed(1, "no route", False))
    known = hired.ends()
    assert (known.done, known.failed, known.cut, known.left) == ([], [(1, "no route")], [], [2])


def test_a_job_is_cut_off_with_its_executor(hired: Hired) -> None:
    hired.give(1, 2)
    hired.begins(1)
    hired.crew.cut_off(hired.executor, claim(1), "too long")
    hired.crew.cut_off(hired.executor, claim(1), "once more")
    assert (hired.killed, hired.crew.free()) == ([PID], [])
    known = hired.ends()
    assert (known.cut, known.left) == ([(1, "too long")], [2])


def test_a_job_that_began_meanwhile_is_not_to_blame_for_the_one_that_was_cut_off(hired: Hired) -> None:
    hired.give(1, 2, 3)
    hired.begins(1)
    hired.crew.cut_off(hired.executor, claim(1), "too long")
    hired.board.end(0, 1)
    hired.begins(2)
    known = hired.ends()
    assert (known.done, known.cut, known.left) == ([1], [], [2, 3])


def test_what_runs_when_it_is_ended_is_run_again(hired: Hired) -> None:
    hired.give(1, 2)
    hired.begins(1)
    hired.crew.end(hired.executor)
    known = hired.ends()
    assert (known.cut, known.left) == ([], [1, 2])


def test_what_it_has_not_begun_is_taken_back(hired: Hired) -> None:
    hired.give(1, 2, 3)
    hired.give(4)
    hired.runs(1)
    hired.begins(2)
    assert hired.crew.take_back(hired.executor) == [claim(3), claim(4)]
    # What had ended before is known at once.
    assert hired.known.done == [1]
    assert hired.crew.free() == []
    assert hired.crew.running(hired.executor) == (claim(2), 0)
    assert hired.crew.take_back(hired.executor) == []
    hired.board.end(0, 2)
    assert not hired.board.begin(0, 3, 0)
    hired.hears(Ran([0.1, 9.0, None]))
    assert (hired.known.done, hired.crew.free()) == ([1, 2], [])
    hired.hears(Ran([None]))
    # It has answered for all, and can be given more.
    assert hired.crew.free() == [hired.executor]
    hired.give(5)
    hired.begins(5)
    assert hired.crew.running(hired.executor) == (claim(5), 0)
    assert (hired.known.done, hired.known.left) == ([1, 2], [])


def test_one_who_has_nothing_to_give_back_is_free_afterwards(hired: Hired) -> None:
    assert hired.crew.take_back(hired.executor) == []
    assert hired.crew.free() == [hired.executor]
    hired.give(1)
    hired.runs(1)
    hired.says(Ran([0.1]))
    assert hired.crew.take_back(hired.executor) == []
    assert (hired.known.done, hired.crew.free()) == ([1], [hired.executor])


def test_what_was_begun_too_late_comes_back_when_it_says_so(hired: Hired) -> None:
    hired.give(1, 2)
    hired.begins(1)
    stop = hired.board.stop_after_begun

    def stop_late(line: int) -> tuple[int, int]:
        surely, _perhaps = stop(line)
        # It began the second at this very moment, and then saw that it may not.
        hired.board.end(0, 1)
        assert not hired.board.begin(0, 2, 0)
        return surely, 2

    hired.board.stop_after_begun = stop_late  # type: ignore[method-assign]
    assert hired.crew.take_back(hired.executor) == []
    hired.board.end(0, 2)
    hired.hears(Ran([1.0, None]))
    assert (hired.known.done, hired.known.left) == ([1], [2])


def test_what_was_begun_too_late_counts_as_untouched_when_it_dies(hired: Hired) -> None:
    hired.give(1, 2)
    hired.begins(1)
    stop = hired.board.stop_after_begun

    def stop_late(line: int) -> tuple[int, int]:
        surely, _perhaps = stop(line)
        hired.board.end(0, 1)
        assert not hired.board.begin(0, 2, 0)
        return surely, 2

    hired.board.stop_after_begun = stop_late  # type: ignore[method-assign]
    hired.crew.take_back(hired.executor)
    hired.board.end(0, 2)
    known = hired.ends()
    assert (known.done, known.cut, known.left) == ([1], [], [2])


def test_a_large_frame_goes_out_as_there_is_room(hired: Hired) -> None:
    large = Claim(1, 1, "mail", "x" * 3_000_000, 1, 5)
    hired.crew.give(hired.executor, [large])
    assert hired.executor.unsent
    told = hired.told()
    while len(told) < 2:
        hired.crew.send_the_rest(hired.executor)
        told += hired.told()
    assert told[1] == Run([Order(1, "mail", large.payload, 1)])
    assert not hired.executor.unsent
