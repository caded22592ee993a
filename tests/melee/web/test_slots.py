"""Slots are given out in the order in which they were asked for, never more than there are, and none is lost."""

import asyncio
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from melee.web.slots import BacklogFull, Slots
from tests.melee.web.stock import in_loop


async def settle() -> None:
    """Lets every task go as far as it can without another."""
    for _ in range(5):
        await asyncio.sleep(0)


async def all_are_free(slots: Slots, count: int) -> None:
    """Takes so many at once, and not one more."""
    slots.resize(count, backlog=0)
    for _ in range(count):
        await slots.take()
    with pytest.raises(BacklogFull):
        await slots.take()


def test_those_that_wait_get_their_slots_in_order() -> None:
    async def test() -> None:
        slots, got = Slots(1, backlog=10), list[int]()

        async def take(number: int) -> None:
            await slots.take()
            got.append(number)

        tasks = [asyncio.create_task(take(number)) for number in range(4)]
        for served in range(1, 5):
            await settle()
            assert got == list(range(served))
            slots.give_back()
        await asyncio.gather(*tasks)
        await all_are_free(slots, 1)

    in_loop(test)


def test_one_more_than_the_backlog_is_refused_at_once() -> None:
    async def test() -> None:
        slots = Slots(1, backlog=1)
        await slots.take()
        waiting = asyncio.create_task(slots.take())
        await settle()
        with pytest.raises(BacklogFull):
            await slots.take()
        slots.give_back()
        await waiting
        slots.give_back()
        await all_are_free(slots, 1)

    in_loop(test)


def test_without_a_backlog_nobody_waits() -> None:
    async def test() -> None:
        slots = Slots(2, backlog=0)
        await slots.take()
        await slots.take()
        with pytest.raises(BacklogFull):
            await slots.take()

    in_loop(test)


def test_one_that_gives_up_in_its_turn_passes_the_slot_on() -> None:
    async def test() -> None:
        slots = Slots(1, backlog=2)
        await slots.take()
        first, second = asyncio.create_task(slots.take()), asyncio.create_task(slots.take())
        await settle()
        slots.give_back()
        # It has its turn, and has not run since.
        first.cancel()
        await second
        slots.give_back()
        await all_are_free(slots, 1)

    in_loop(test)


def test_one_that_gives_up_while_it_waits_leaves_room_in_the_backlog() -> None:
    async def test() -> None:
        slots = Slots(1, backlog=1)
        await slots.take()
        first = asyncio.create_task(slots.take())
        await settle()
        first.cancel()
        await settle()
        second = asyncio.create_task(slots.take())
        await settle()
        assert not second.done()
        slots.give_back()
        await second

    in_loop(test)


def test_fewer_slots_hold_from_now_on_and_more_go_to_those_that_wait() -> None:
    async def test() -> None:
        slots = Slots(3, backlog=10)
        for _ in range(3):
            await slots.take()
        slots.resize(1, backlog=10)
        waiting = [asyncio.create_task(slots.take()) for _ in range(3)]
        for _taken in (3, 2):
            await settle()
            assert not any(task.done() for task in waiting)
            slots.give_back()
        slots.resize(3, backlog=0)
        await settle()
        assert [task.done() for task in waiting] == [True, True, False]
        slots.give_back()
        await asyncio.gather(*waiting)
        for _ in range(3):
            slots.give_back()
        await all_are_free(slots, 3)

    in_loop(test)


class Crowd:
    """Those who take slots: they wait, or hold one, or have given up or were refused."""

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self.waiting: dict[asyncio.Task[None], int] = {}
        self.holding: list[int] = []
        self.last_served = -1

    def come(self, number: int) -> None:
        task = asyncio.create_task(self._take(number))
        self.waiting[task] = number
        task.add_done_callback(self.waiting.pop)

    def give_back(self) -> None:
        if self.holding:
            self.holding.pop()
            self.slots.give_back()

    def give_up(self, number: int) -> None:
        if self.waiting:
            list(self.waiting)[number % len(self.waiting)].cancel()

    async def _take(self, number: int) -> None:
        with contextlib.suppress(BacklogFull):
            await self.slots.take()
            self.holding.append(number)
            self.last_served = max(self.last_served, number)


steps = st.one_of(
    st.just(("come", 0)),
    st.just(("give back", 0)),
    st.tuples(st.just("give up"), st.integers(0, 5)),
    st.tuples(st.just("resize"), st.integers(1, 4)),
    st.just(("settle", 0)),
)


@given(st.integers(1, 3), st.integers(0, 4), st.lists(steps, max_size=30))
def test_whatever_happens_no_slot_is_lost_and_none_is_made(
    at_most: int, backlog: int, history: list[tuple[str, int]]
) -> None:
    async def test() -> None:
        crowd, most, now = Crowd(slots := Slots(at_most, backlog)), at_most, at_most
        for number, (step, given_number) in enumerate(history):
            match step:
                case "come":
                    crowd.come(number)
                case "give back":
                    crowd.give_back()
                case "give up":
                    crowd.give_up(given_number)
                case "resize":
                    slots.resize(given_number, backlog)
                    most, now = max(most, given_number), given_number
                case "settle":
                    await settle()
                    assert len(crowd.holding) <= most
                    assert len(crowd.waiting) <= backlog
                    assert not crowd.waiting or len(crowd.holding) >= now
                    assert all(waiting > crowd.last_served for waiting in crowd.waiting.values())
        while crowd.holding or crowd.waiting:
            crowd.give_back()
            await settle()
        await all_are_free(slots, now)

    in_loop(test)
