"""Tests for `melee.jobs.pace`."""

from collections import deque

from melee.jobs.pace import Pace
from melee.jobs.store import Claim


def claims(count: int, name: str = "mail", payload: str = "{}") -> deque[Claim]:
    return deque(Claim(number, 1, name, payload, 1, 5) for number in range(count))


def learned(seconds: float, name: str = "mail") -> Pace:
    pace = Pace()
    for _job in range(50):
        pace.learn(name, seconds)
    return pace


def test_a_kind_that_nobody_knows_is_run_alone() -> None:
    ready = claims(5)
    assert [claim.id for claim in Pace().frame(ready)] == [0]
    assert len(ready) == 4


def test_quick_ones_go_several_in_a_frame_in_their_order() -> None:
    ready = claims(60)
    assert [claim.id for claim in learned(0.0001).frame(ready)] == list(range(50))
    assert len(learned(0.000001).frame(claims(200))) == 100
    assert len(learned(0.001).frame(ready)) == 5
    assert len(learned(1.0).frame(ready)) == 1


def test_a_slow_kind_among_quick_ones_ends_a_frame() -> None:
    pace = learned(0.0001)
    pace.learn("slow", 10)
    ready = claims(3)
    ready.insert(2, Claim(9, 1, "slow", "{}", 1, 5))
    assert [claim.id for claim in pace.frame(ready)] == [0, 1]
    assert [claim.id for claim in pace.frame(ready)] == [9]


def test_large_payloads_are_few_in_a_frame() -> None:
    pace = learned(0.0001)
    assert len(pace.frame(claims(10, payload="x" * 30_000))) == 2
    assert len(pace.frame(claims(10, payload="x" * 1_000_000))) == 1


def test_as_many_are_claimed_as_keep_the_executors_busy_for_a_moment() -> None:
    assert learned(0.001).wanted(4, deque()) in (399, 400)
    assert learned(0.000001).wanted(4, deque()) == 1000
    # At least one for each, however slow they are.
    assert learned(60).wanted(4, deque()) == 4


def test_no_more_are_claimed_before_half_of_those_ahead_are_gone() -> None:
    pace = learned(0.001)
    assert pace.wanted(4, claims(300)) == 0
    assert pace.wanted(4, claims(150)) in (249, 250)
    assert learned(60).wanted(4, claims(4)) == 0
