"""Tests for `melee.jobs.retry`."""

from melee.jobs.retry import pause_seconds


def test_pauses_grow_up_to_an_hour() -> None:
    assert [pause_seconds(attempt) for attempt in range(1, 8)] == [5, 20, 80, 320, 1280, 3600, 3600]
    assert pause_seconds(10**9) == 3600


def test_jitter_makes_a_pause_longer_by_up_to_its_share() -> None:
    pauses = {pause_seconds(2, 0.5) for _ in range(200)}
    assert len(pauses) > 100
    assert all(20 <= pause <= 30 for pause in pauses)
    assert max(pauses) - min(pauses) > 5
