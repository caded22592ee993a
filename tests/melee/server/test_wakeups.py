"""When an app goes to sleep, and when a timer wakes it."""

import pytest

from melee.clock import ManualClock
from melee.server.wakeups import Wakeups


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1000)


@pytest.fixture
def wakeups(clock: ManualClock) -> Wakeups:
    return Wakeups(clock, sleep_after_seconds=300)


def test_it_may_sleep_when_nobody_asked_for_long_enough(wakeups: Wakeups) -> None:
    assert not wakeups.may_sleep(299.9, None)
    assert wakeups.may_sleep(300, None)


def test_it_stays_awake_for_a_timer_that_is_as_near_as_sleep_is_long(wakeups: Wakeups) -> None:
    assert not wakeups.may_sleep(300, next_wake_at=1000 + 302)
    assert wakeups.may_sleep(300, next_wake_at=1000 + 303)


def test_a_worker_that_has_not_said_when_it_is_needed_stays_awake(wakeups: Wakeups) -> None:
    assert not wakeups.may_sleep(300, next_wake_at=0)


def test_it_is_woken_a_little_before_its_timer(wakeups: Wakeups, clock: ManualClock) -> None:
    assert not wakeups.is_due(1010)
    clock.move(8)
    assert wakeups.is_due(1010)


def test_it_is_woken_for_what_the_clock_has_jumped_over_and_not_for_what_it_has_jumped_back_from(
    wakeups: Wakeups, clock: ManualClock
) -> None:
    clock.step_to(5000)
    assert wakeups.is_due(1010)
    clock.step_to(0)
    assert not wakeups.is_due(1010)


def test_without_a_timer_nothing_is_due(wakeups: Wakeups) -> None:
    assert not wakeups.is_due(None)
