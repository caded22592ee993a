"""`timer(after=…)` and `timer(at=…)` take what is surely a moment, and say what to pass instead of the rest."""

import math
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from melee.errors import TimerError
from melee.objects.timer import due_moment

NOW = datetime(2030, 1, 1, tzinfo=UTC).timestamp()
HUNDRED_YEARS = 100 * 366 * 86_400
INSTEAD_OF_AT = "pass epoch seconds or an aware datetime"


class _NoOffset(tzinfo):
    def utcoffset(self, _at: datetime | None) -> None:
        return None

    def dst(self, _at: datetime | None) -> None:
        return None

    def tzname(self, _at: datetime | None) -> str:
        return "nowhere"


def refusal(after: Any = None, at: Any = None) -> str:
    with pytest.raises(TimerError) as caught:
        due_moment(after, at, NOW)
    return str(caught.value)


@pytest.mark.parametrize("after", [0, 0.0, 1, 2.5, 86_400, HUNDRED_YEARS])
def test_a_delay_counts_from_now(after: float) -> None:
    assert due_moment(after, None, NOW) == NOW + after


@pytest.mark.parametrize("at", [NOW, NOW - 3600, int(NOW) + 60, 1_000_000_000])
def test_epoch_seconds_are_the_moment_itself_also_in_the_past(at: float) -> None:
    assert due_moment(None, at, NOW) == at


@given(
    st.datetimes(datetime(2002, 1, 1), datetime(4999, 1, 1)),  # noqa: DTZ001 - hypothesis takes naive bounds
    st.integers(-12, 14),
)
def test_an_aware_datetime_is_its_moment_whatever_its_zone(naive: datetime, hours: int) -> None:
    at = naive.replace(tzinfo=timezone(timedelta(hours=hours)))
    assert due_moment(None, at, NOW) == at.timestamp()


def test_the_hour_that_comes_twice_is_told_apart_by_its_fold() -> None:
    twice = datetime(2030, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Paris"))
    assert due_moment(None, twice.replace(fold=1), NOW) - due_moment(None, twice, NOW) == 3600


@pytest.mark.parametrize(("after", "at"), [(None, None), (1, NOW)])
def test_neither_and_both_are_refused(after: float | None, at: float | None) -> None:
    problem = "timer() takes one of after=seconds and at=moment; use cancel_timer() to clear it"
    assert refusal(after, at) == problem


@pytest.mark.parametrize(
    ("after", "problem"),
    [
        (-1, "after=-1 is negative; pass 0 or more seconds"),
        (-0.001, "after=-0.001 is negative; pass 0 or more seconds"),
        (math.nan, "after=nan is no moment; pass seconds"),
        (math.inf, "after=inf is no moment; pass seconds"),
        (10**400, "after=inf is no moment; pass seconds"),
        (True, "after=True is of type bool; pass seconds"),
        ("60", "after='60' is of type str; pass seconds"),
        (timedelta(1), "after=datetime.timedelta(days=1) is of type timedelta; pass seconds"),
        (Decimal(1), "after=Decimal('1') is of type Decimal; pass seconds"),
        (NOW * 1000, "after=1893456000000.0 is more than a hundred years; pass seconds, or at= for a moment"),
    ],
)
def test_what_is_no_delay_is_refused(after: Any, problem: str) -> None:
    assert refusal(after=after) == problem


@pytest.mark.parametrize(
    ("at", "problem"),
    [
        (60_000, "at=60000 is before 2001-09-09; pass epoch seconds, or after= for a delay"),
        (-1, "at=-1 is before 2001-09-09; pass epoch seconds, or after= for a delay"),
        (1_893_456_000_000, "at=1893456000000 is after the year 5000; pass seconds, not milliseconds"),
        (math.nan, f"at=nan is no moment; {INSTEAD_OF_AT}"),
        (10**400, f"at=inf is no moment; {INSTEAD_OF_AT}"),
        (False, f"at=False is of type bool; {INSTEAD_OF_AT}"),
        ("2030-01-01", f"at='2030-01-01' is of type str; {INSTEAD_OF_AT}"),
        (date(2030, 1, 1), f"at=datetime.date(2030, 1, 1) is of type date; {INSTEAD_OF_AT}"),
        (
            datetime(2030, 1, 1),  # noqa: DTZ001 - the fault this test plants
            "at=2030-01-01 00:00:00 has no time zone; start from melee.now(), or pass datetime(…, tzinfo=…)",
        ),
        (
            datetime(2030, 1, 1, tzinfo=_NoOffset()),
            "at=2030-01-01 00:00:00 has no time zone; start from melee.now(), or pass datetime(…, tzinfo=…)",
        ),
        (
            datetime(1970, 1, 2, tzinfo=UTC),
            "at=1970-01-02 00:00:00+00:00 is before 2001-09-09; pass epoch seconds, or after= for a delay",
        ),
    ],
)
def test_what_is_no_moment_is_refused(at: Any, problem: str) -> None:
    assert refusal(at=at) == problem


@given(st.floats() | st.integers(), st.floats() | st.integers())
def test_no_number_whatever_is_due_before_it_was_set_or_never(after: float, at: float) -> None:
    for given_after, given_at in ((after, None), (None, at)):
        try:
            due_at = due_moment(given_after, given_at, NOW)
        except TimerError:
            continue
        assert math.isfinite(due_at)
        assert due_at >= (NOW if given_at is None else 1_000_000_000)
