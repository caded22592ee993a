"""Who waits for whom: an object may call another, and never one that waits for it."""

from typing import Any

import pytest

from melee.errors import Deadlock, MeleeError, ObjectCallError, TransactionOpen
from melee.objects.durable import Durable
from melee.objects.request import ObjectRef
from tests.melee.objects.conftest import OpenHost


class Caller(Durable):
    def ask(self, id: str) -> Any:
        return Answerer.get(id).answer(self.id)

    def ask_myself(self) -> Any:
        return Caller.get(self.id).ask("x")

    def ask_in_transaction(self) -> None:
        with self.storage.transaction():
            self.storage.put("a", 1)
            self.ask("x")

    def list_in_transaction(self) -> None:
        with self.storage.transaction():
            Answerer.list()

    def kept(self) -> Any:
        return self.storage.get("a")


class Answerer(Durable):
    def answer(self, caller: str) -> str:
        return f"hello {caller}"


class Boomerang(Durable):
    def throw(self, id: str) -> Any:
        return Returner.get(id).back(self.id)


class Returner(Durable):
    def back(self, id: str) -> Any:
        return Boomerang.get(id).throw(self.id)


class InSetup(Durable):
    def setup(self) -> None:
        Answerer.get("x").answer("setup")

    def hello(self) -> str:
        return "hello"


def test_an_object_may_call_another(open_host: OpenHost) -> None:
    open_host(Caller, Answerer)
    assert Caller.get("a").ask("b") == "hello a"


def test_a_call_that_would_wait_for_itself_is_a_deadlock_that_names_the_chain(open_host: OpenHost) -> None:
    open_host(Caller, Answerer, Boomerang, Returner)
    with pytest.raises(Deadlock) as round_trip:
        Boomerang.get("A").throw("B")
    assert round_trip.value.chain == ["Boomerang/A", "Returner/B", "Boomerang/A"]
    assert "Boomerang/A → Returner/B → Boomerang/A" in str(round_trip.value)
    with pytest.raises(Deadlock):
        Caller.get("a").ask_myself()
    assert Caller.get("a").ask("b") == "hello a"


def test_a_timer_that_calls_its_own_object_is_a_deadlock(open_host: OpenHost) -> None:
    seen: list[BaseException] = []

    class Selfish(Durable):
        def arm(self) -> None:
            self.timer(after=0)

        def on_timer(self) -> None:
            try:
                Selfish.get(self.id).arm()
            except MeleeError as error:
                seen.append(error)

    host = open_host(Selfish)
    Selfish.get("a").arm()
    host.fire_due()
    assert [type(error) for error in seen] == [Deadlock]


def test_nothing_leaves_an_object_from_inside_a_transaction(open_host: OpenHost) -> None:
    open_host(Caller, Answerer)
    with pytest.raises(ObjectCallError, match=r"Caller/a calls Answerer/x\.answer inside a transaction") as raised:
        Caller.get("a").ask_in_transaction()
    assert raised.value.remote_type == TransactionOpen.__name__
    assert isinstance(raised.value.__cause__, TransactionOpen)
    assert Caller.get("a").kept() is None
    with pytest.raises(ObjectCallError, match=r"Answerer/\*\.list inside a transaction"):
        Caller.get("a").list_in_transaction()


def test_setup_cannot_ask_others_before_its_object_is_on_disk(open_host: OpenHost) -> None:
    open_host(InSetup, Answerer)
    with pytest.raises(ObjectCallError, match="TransactionOpen"):
        InSetup.get("a").hello()
    assert InSetup.count() == 0


def test_an_init_that_asks_another_object_creates_nothing_half(open_host: OpenHost) -> None:
    class Curious(Durable):
        asks = True

        def __init__(self) -> None:
            if self.asks:
                Answerer.get("x").answer("init")

        def setup(self) -> None:
            self.storage.put("set up", True)

        def is_set_up(self) -> bool:
            return bool(self.storage.get("set up"))

    host = open_host(Curious, Answerer)
    with pytest.raises(ObjectCallError, match="TransactionOpen"):
        Curious.get("a").is_set_up()
    assert Curious.list() == []
    Curious.asks = False
    assert Curious.get("a").is_set_up()
    # Once it exists, an `__init__` may ask others.
    host.unload(ObjectRef("Curious", "a"))
    Curious.asks = True
    assert Curious.get("a").is_set_up()
