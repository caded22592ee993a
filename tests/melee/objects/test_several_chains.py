"""What a host does while an object of it waits for another worker, whose part the test plays."""

from typing import Any

import msgspec
import pytest

from melee.errors import Deadlock, ObjectUnavailable
from melee.objects import running
from melee.objects.request import CALL_SECONDS, Count, Destroy, ListIds, ObjectRef
from tests.melee.objects.far_worker import FAR, FARTHER, HERE, A, B, C, Here, Node, call, name


def test_a_call_leaves_with_the_chain_that_waits_for_it_and_others_run_meanwhile(here: Here) -> None:
    asking = here.submit(Node.get(A).ask, [B, FAR, FARTHER])
    assert here.far.request() == call(FAR, "ask", [FARTHER], chain=(A, B))
    assert here.peer(call(C, "is_over")) == b"true"
    here.far.answer(b'["far"]')
    assert asking.result(timeout=30) == [A, B, "far"]


def test_a_call_of_an_object_that_waits_is_put_off_until_that_has_ended(here: Here) -> None:
    asking = here.ask_far(A, FAR)
    calls = [here.put_off(here.peer, call(A, "is_over", chain=(FARTHER,))), here.put_off(Node.get(A).is_over)]
    here.far.answer()
    assert asking.result(timeout=30) == [A]
    assert [waiting.result(timeout=30) for waiting in calls] == [b"true", True]


@pytest.mark.parametrize("way", ["peer", "caller"])
def test_what_is_put_off_does_not_begin_when_its_caller_has_gone(here: Here, way: str) -> None:
    asking = here.ask_far(A, FAR)
    ask = getattr(here, way)
    gone = [here.put_off(ask, request, False) for request in (call(A, "arm"), Destroy("Node", A))]
    here.far.answer()
    asking.result(timeout=30)
    assert [each.result(timeout=30) for each in gone] == [None, None]
    assert here.host.next_wake_at() is None
    assert Node.get(A).is_over()


def test_a_call_that_is_put_off_for_too_long_has_not_run(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    asking = here.ask_far(A, FAR)
    with monkeypatch.context() as patched:
        # The real wait is 30 s; nothing else is replaced.
        patched.setattr(running, "CALL_SECONDS", 0.05)
        outcome = here.peer(call(A, "arm", chain=(FARTHER,)))
    assert isinstance(outcome, ObjectUnavailable)
    assert "its turn did not come within 0.05 s" in str(outcome)
    here.far.answer()
    assert asking.result(timeout=30) == [A]
    assert here.host.next_wake_at() is None


def test_a_call_is_put_off_no_longer_because_other_calls_end_meanwhile(here: Here) -> None:
    asking = here.ask_far(A, FAR)
    waiting = here.put_off(here.peer, call(A, "is_over", chain=(FARTHER,)))
    here.clock.move(CALL_SECONDS)
    here.peer(call(B, "is_over"))
    assert "its turn did not come within 30 s" in str(waiting.result(timeout=10))
    here.far.answer()
    assert asking.result(timeout=30) == [A]


@pytest.mark.parametrize("path", [(A,), (A, B), (A, B, C)])
def test_a_call_from_where_the_object_waits_is_a_deadlock_at_once(here: Here, path: tuple[str, ...]) -> None:
    asking = here.ask_far(*path, FAR)
    outcome = here.peer(call(A, "is_over", chain=(FAR,)))
    assert isinstance(outcome, Deadlock)
    assert outcome.chain == [name(id) for id in (FAR, *path, FAR)]
    here.far.answer()
    assert asking.result(timeout=30) == list(path)


def test_a_circle_through_two_chains_here_is_a_deadlock(here: Here) -> None:
    asking = here.ask_far(A, FAR)
    waiting = here.put_off(here.peer, call(C, "ask", [A], chain=(FARTHER,)))
    outcome = here.peer(call(C, "is_over", chain=(FAR,)))
    assert isinstance(outcome, Deadlock)
    assert outcome.chain == [name(id) for id in (FAR, C, A, FAR)]
    here.far.answer()
    assert asking.result(timeout=30) == [A]
    assert msgspec.json.decode(waiting.result(timeout=30)) == [C, A]


def test_an_object_does_not_ask_one_that_already_waits_for_it(here: Here) -> None:
    asking = here.submit(Node.get(A).ask_each, [FARTHER, FAR])
    here.far.request()
    waiting = here.put_off(here.peer, call(A, "is_over", chain=(FAR,)))
    here.far.answer()
    with pytest.raises(Deadlock) as raised:
        asking.result(timeout=30)
    assert raised.value.chain == [name(id) for id in (A, FAR, A)]
    assert waiting.result(timeout=30) == b"true"


def test_an_object_that_only_has_to_read_its_answer_waits_for_nobody(here: Here) -> None:
    """The far object has answered it and asks it now, in another call."""
    asking = here.ask_far(A, FAR)
    with here.host.turn:
        here.far.answer()
        assert here.peer(call(A, "is_over", chain=(FAR,))) == b"true"
    assert asking.result(timeout=30) == [A]


def test_a_timer_of_an_object_that_waits_holds_up_no_other_and_fires_when_the_call_has_ended(here: Here) -> None:
    for id in (A, B):
        Node.get(id).arm()
    here.clock.move(60)
    asking = here.ask_far(A, FAR)
    assert here.host.fire_due() == [ObjectRef("Node", B)]
    assert here.host.next_wake_at() == here.clock.now() + 1
    here.clock.move(1)
    assert here.host.fire_due() == []
    here.far.answer()
    asking.result(timeout=30)
    assert here.host.next_wake_at() == here.clock.now() - 1
    assert here.host.fire_due() == [ObjectRef("Node", A)]
    assert Node.get(A).fired_when_it_was_over()


def test_a_timer_set_while_an_earlier_one_is_put_off_is_in_the_index_before_it_is_on_disk(here: Here) -> None:
    asked_at: list[Any] = []
    Node.get(A).arm()
    here.clock.move(60)
    asking = here.submit(Node.get(A).ask_and_arm, FAR, 0.5)
    here.far.request()
    here.host.fire_due()
    here.reached["object committed"] = lambda: asked_at.append(here.host.next_wake_at())
    here.far.answer()
    asking.result(timeout=30)
    assert asked_at == [here.clock.now() + 0.5]


def test_an_object_that_waits_stays_in_memory(here: Here) -> None:
    asking = here.ask_far(A, FAR)
    here.peer(call(B, "is_over"))
    here.clock.move(1000)
    here.host.unload_idle()
    assert here.host.idle_in_seconds() > 0
    assert not here.host.unload(ObjectRef("Node", B))
    here.far.answer()
    assert asking.result(timeout=30) == [A]
    assert here.host.unload(ObjectRef("Node", A))


def test_an_object_that_waits_is_destroyed_when_its_call_has_ended(here: Here) -> None:
    asking = here.ask_far(A, FAR)
    other = here.put_off(here.peer, Destroy("Node", A, (name(FARTHER),)))
    here.far.answer()
    assert asking.result(timeout=30) == [A]
    assert other.result(timeout=30) == b"true"
    asking = here.ask_far(B, FAR)
    # What it waits for destroys it, which must not wait for it.
    assert here.peer(Destroy("Node", B, (name(B), name(FAR)))) == b"true"
    assert here.peer(call(C, "is_over")) == b"true"
    here.far.answer()
    assert asking.result(timeout=30) == [B]
    listing = here.submit(Node.list)
    assert here.far.request() == ListIds("Node")
    here.far.answer(b'["!", "~"]')
    assert listing.result(timeout=30) == ["!", C, "~"]


def test_an_object_whose_id_is_a_star_is_one_among_the_others(here: Here) -> None:
    assert HERE.owns(ObjectRef("Node", "*"))
    asking = here.ask_far("*", FAR)
    assert here.peer(Count("Node")) == b"1"
    here.far.answer()
    assert asking.result(timeout=30) == ["*"]
    counting = here.submit(Node.get(A).count_all)
    assert here.far.request() == Count("Node")
    # It waits for a number and not for the object, which may wait for it.
    waiting = here.put_off(here.peer, call("*", "ask", [A]))
    here.far.answer(b"2")
    assert counting.result(timeout=30) == 4
    assert msgspec.json.decode(waiting.result(timeout=30)) == ["*", A]
