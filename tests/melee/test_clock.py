"""Time is an argument: a test moves it, and what an app calls moves with it."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from melee import clock
from melee.clock import ManualClock, SystemClock

PARIS = ZoneInfo("Europe/Paris")
NEW_YEAR_2030 = datetime(2030, 1, 1, tzinfo=UTC)


def test_the_machines_clock_reads_epoch_seconds_and_an_elapsed_time_that_only_grows() -> None:
    time = SystemClock()
    assert abs(time.now() - datetime.now(UTC).timestamp()) < 60
    assert time.elapsed() <= time.elapsed()


def test_a_manual_clock_stands_still_until_it_is_moved() -> None:
    time = ManualClock()
    assert time.now() == time.now() == NEW_YEAR_2030.timestamp()
    time.move(1.5)
    assert time.now() == NEW_YEAR_2030.timestamp() + 1.5
    assert time.elapsed() == 1.5


def test_moving_to_a_moment_lets_the_time_until_then_pass() -> None:
    time = ManualClock(NEW_YEAR_2030)
    time.move_to(NEW_YEAR_2030 + timedelta(days=1))
    assert time.elapsed() == 86_400


def test_time_does_not_pass_backwards() -> None:
    time = ManualClock()
    with pytest.raises(ValueError, match=r"time cannot pass by -1 s; use step_to\(\) to set the wall clock back"):
        time.move(-1)
    with pytest.raises(ValueError, match="time cannot pass"):
        time.move_to(0)
    assert time.elapsed() == 0


def test_stepping_sets_the_wall_clock_and_lets_no_time_pass() -> None:
    time = ManualClock()
    time.step_to(NEW_YEAR_2030 - timedelta(hours=1))
    assert time.now() == NEW_YEAR_2030.timestamp() - 3600
    assert time.elapsed() == 0


def test_a_moment_without_a_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="has no time zone; pass datetime"):
        ManualClock(datetime(2030, 1, 1))  # noqa: DTZ001 - the fault this test plants


def test_now_reads_the_installed_clock_in_the_installed_zone() -> None:
    time = ManualClock(NEW_YEAR_2030)
    with clock.installed(time, PARIS):
        assert clock.now() == NEW_YEAR_2030
        assert clock.now().isoformat() == "2030-01-01T01:00:00+01:00"
        time.move(3600)
        assert clock.now().hour == 2


def test_an_installed_clock_is_put_back_even_after_an_error() -> None:
    outer = ManualClock(NEW_YEAR_2030)
    with clock.installed(outer, UTC):
        with pytest.raises(KeyError), clock.installed(ManualClock(0), PARIS):
            raise KeyError
        assert clock.now() == NEW_YEAR_2030
        assert clock.now().tzinfo is UTC


@pytest.mark.parametrize(("day", "hours"), [(date(2030, 3, 31), 23), (date(2030, 10, 27), 25), (date(2030, 6, 1), 24)])
def test_a_local_day_has_the_hours_it_has_when_clocks_change(day: date, hours: int) -> None:
    time = ManualClock(datetime(day.year, day.month, day.day, tzinfo=PARIS))
    with clock.installed(time, PARIS):
        time.move(hours * 3600 - 1)
        assert clock.now().date() == day
        time.move(1)
        assert (clock.now().date(), clock.now().hour) == (day + timedelta(days=1), 0)
