"""Tests for `melee.jobs.cron`: when an expression matches, across the nights on which clocks are set."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from melee.errors import DefinitionError
from melee.jobs.cron import Schedule


def matches(expression: str, zone: str, begin: str, end: str) -> list[str]:
    """The matches after one moment and up to another, both in UTC, as the clocks of the zone show them."""
    schedule = Schedule(f"CRON_TZ={zone} {expression}")
    moment, last = (datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() for text in (begin, end))
    found = []
    while (moment := schedule.next_after(moment)) <= last:
        found.append(f"{datetime.fromtimestamp(moment, ZoneInfo(zone)):%d %H:%M %z}")
    return found


# Paris: 2030-03-31 02:00 +0100 is 03:00 +0200, and 2030-10-27 03:00 +0200 is 02:00 +0100.
# New York: 2030-03-10 02:00 -0500 is 03:00 -0400, and 2030-11-03 02:00 -0400 is 01:00 -0500.
NIGHTS = {
    "Paris, forward": ("Europe/Paris", "2030-03-30T23:00", "2030-03-31T04:00"),
    "Paris, back": ("Europe/Paris", "2030-10-26T22:00", "2030-10-27T04:00"),
    "New York, forward": ("America/New_York", "2030-03-10T05:00", "2030-03-10T10:00"),
    "New York, back": ("America/New_York", "2030-11-03T04:00", "2030-11-03T10:00"),
}


@pytest.mark.parametrize(
    ("night", "expression", "expected"),
    [
        # What has an hour of its own in the hour that is left out comes right after it.
        ("Paris, forward", "30 2 * * *", ["31 03:00 +0200"]),
        ("Paris, forward", "0 3 * * *", ["31 03:00 +0200"]),
        ("Paris, forward", "15,45 2 * * *", ["31 03:00 +0200"]),
        ("New York, forward", "30 2 * * *", ["10 03:00 -0400"]),
        ("New York, forward", "0 1 * * *", ["10 01:00 -0500"]),
        # In the hour that comes twice it comes once.
        ("Paris, back", "30 2 * * *", ["27 02:30 +0200"]),
        ("Paris, back", "0 3 * * *", ["27 03:00 +0100"]),
        ("New York, back", "30 1 * * *", ["03 01:30 -0400"]),
        ("New York, back", "0 2 * * *", ["03 02:00 -0500"]),
        # What comes every hour goes by real time.
        (
            "Paris, forward",
            "30 * * * *",
            ["31 00:30 +0100", "31 01:30 +0100", "31 03:30 +0200", "31 04:30 +0200", "31 05:30 +0200"],
        ),
        (
            "Paris, back",
            "30 * * * *",
            [
                "27 00:30 +0200",
                "27 01:30 +0200",
                "27 02:30 +0200",
                "27 02:30 +0100",
                "27 03:30 +0100",
                "27 04:30 +0100",
            ],
        ),
        (
            "New York, back",
            "0 */1 * * *",
            [
                "03 01:00 -0400",
                "03 01:00 -0500",
                "03 02:00 -0500",
                "03 03:00 -0500",
                "03 04:00 -0500",
                "03 05:00 -0500",
            ],
        ),
    ],
)
def test_nights_on_which_clocks_are_set(night: str, expression: str, expected: list[str]) -> None:
    assert matches(expression, *NIGHTS[night]) == expected


@pytest.mark.parametrize("night", NIGHTS)
def test_every_minute_goes_by_real_time(night: str) -> None:
    zone, begin, end = NIGHTS[night]
    minutes = (datetime.fromisoformat(end) - datetime.fromisoformat(begin)) // timedelta(minutes=1)
    assert len(matches("* * * * *", zone, begin, end)) == minutes


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 8 * * MON-FRI", "2030-01-01T08:00:00+00:00"),
        ("CRON_TZ=+01:00 0 8 * * MON", "2030-01-07T07:00:00+00:00"),
        ("CRON_TZ=-05:30 0 8 * * *", "2030-01-01T13:30:00+00:00"),
        ("CRON_TZ=Europe/Paris 0 8 1 7 *", "2030-07-01T06:00:00+00:00"),
        ("  CRON_TZ=UTC   */20 * * * *  ", "2030-01-01T00:20:00+00:00"),
        ("0 0 29 2 *", "2032-02-29T00:00:00+00:00"),
    ],
)
def test_the_first_match_of_2030(expression: str, expected: str) -> None:
    begin = datetime(2030, 1, 1, tzinfo=UTC).timestamp()
    assert datetime.fromtimestamp(Schedule(expression).next_after(begin), UTC).isoformat() == expected


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("* * * *", "it has 4 fields, and five are wanted"),
        ("*/10 * * * * *", "it has 6 fields"),
        ("@daily", "it has 1 fields"),
        ("61 * * * *", "Bad minute"),
        ("0 0 30 2 *", "Bad day-of-month"),
        ("CRON_TZ=Europe/Pariss 0 8 * * *", "there is no time zone Europe/Pariss"),
        ("CRON_TZ=+25:00 0 8 * * *", "there is no time zone +25:00"),
        ("CRON_TZ=../etc/passwd 0 8 * * *", "there is no time zone"),
    ],
)
def test_what_is_no_expression_is_refused(expression: str, problem: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        Schedule(expression)
    assert problem in str(refused.value)
    assert repr(expression) in str(refused.value)


FIELDS = st.tuples(
    st.sampled_from(["*", "0", "*/7", "3,33", "10-20"]),
    st.sampled_from(["*", "2", "*/3", "1-3", "23"]),
    st.sampled_from(["*", "1", "31", "*/10"]),
    st.sampled_from(["*", "3", "10,11", "JAN-MAR"]),
    st.sampled_from(["*", "SUN", "1-5", "7"]),
).map(" ".join)
ZONES = st.sampled_from(["UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "+05:45"])


@settings(max_examples=200, deadline=None)
@given(FIELDS, ZONES, st.floats(1_800_000_000, 2_000_000_000))
def test_matches_are_full_minutes_each_later_than_the_one_before(expression: str, zone: str, moment: float) -> None:
    schedule = Schedule(f"CRON_TZ={zone} {expression}")
    found = [moment]
    for _match in range(5):
        found.append(schedule.next_after(found[-1]))
    assert all(before < after for before, after in pairwise(found))
    assert all(match % 60 == 0 for match in found[1:])
    # Nothing lies between: asked from just before a match, it is found again.
    assert [schedule.next_after(match - 0.5) for match in found[1:]] == found[1:]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 59), st.integers(0, 23), st.floats(1_800_000_000, 2_000_000_000))
def test_a_match_has_the_minute_and_the_hour_that_were_asked_for(minute: int, hour: int, moment: float) -> None:
    found = datetime.fromtimestamp(Schedule(f"{minute} {hour} * * *").next_after(moment), UTC)
    assert (found.minute, found.hour, found.second) == (minute, hour, 0)
    assert 0 < found.timestamp() - moment <= 86_400
