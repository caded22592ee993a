"""What the page on durable objects says of its fragments."""

from datetime import timedelta
from pathlib import Path

import pytest

from melee.clock import ManualClock
from melee.errors import ObjectCallError, ObjectUnavailable, OutcomeUnknown, Overloaded
from melee.objects.request import ObjectRef, Request, owned_by
from snippets.durable_objects.account import Account
from snippets.durable_objects.cache import Glossary
from snippets.durable_objects.caller import pay
from snippets.durable_objects.chain import Ping, Pong
from snippets.durable_objects.counter import Counter
from snippets.durable_objects.heartbeat import GoesOnWhenItFails, StopsWhenItFails
from snippets.durable_objects.life import Basket, tidy_up
from snippets.durable_objects.reminder import Reminder
from tests.docs.conftest import Hosting

SNIPPETS = Path(__file__).parents[2] / "snippets"


def test_a_counter_counts_for_each_id(hosting: Hosting) -> None:
    hosting(Counter)
    assert [Counter.get("apples").add(), Counter.get("apples").add(4), Counter.get("pears").add()] == [1, 5, 1]


def test_a_payment_is_made_whole_or_not_at_all(hosting: Hosting) -> None:
    hosting(Account)
    account = Account.get("ada")
    assert account.deposit(500) == 500
    assert account.pay(120, "lunch") == 380
    with pytest.raises(ObjectCallError, match="1000 cents are more than there is"):
        account.pay(1000, "a car")
    assert account.balance() == 380
    assert account.entries() == [{"cents": 500, "purpose": "deposit"}, {"cents": -120, "purpose": "lunch"}]


def test_an_account_without_its_row_is_empty(hosting: Hosting) -> None:
    class Bare(Account):
        def setup(self) -> None:
            self.storage.run("CREATE TABLE balance (cents INTEGER)")

    hosting(Bare)
    assert Bare.get("nobody").balance() == 0


def test_an_attribute_is_made_again_after_the_object_was_unloaded(hosting: Hosting) -> None:
    host = hosting(Glossary)
    words = Glossary.get("words")
    for word in ("id", "handle", "timer"):
        words.define(word, "…")
    assert words.longest(2) == ["handle", "timer"]
    assert words.longest(1) == ["handle"]
    host.unload(ObjectRef("Glossary", "words"))
    assert words.longest(1) == ["handle"]


def test_a_reminder_is_set_moved_and_cleared(hosting: Hosting, clock: ManualClock) -> None:
    host = hosting(Reminder)
    reminder = Reminder.get("tea")
    reminder.remind_in(240)
    reminder.remind_at(clock.now() + 60)
    clock.move(60)
    assert host.fire_due() == [ObjectRef("Reminder", "tea")]
    assert reminder.reminded_at() == "2030-01-01T00:01:00+00:00"
    reminder.remind_in(60)
    reminder.never_mind()
    clock.move(timedelta(days=1).total_seconds())
    assert host.fire_due() == []


def test_a_timer_set_last_stops_at_a_failure_and_one_set_first_goes_on(hosting: Hosting, clock: ManualClock) -> None:
    host = hosting(StopsWhenItFails, GoesOnWhenItFails)
    StopsWhenItFails.get("a").start()
    GoesOnWhenItFails.get("a").start()
    assert len(host.fire_due()) == 2
    clock.move(60)
    assert host.fire_due() == [ObjectRef("GoesOnWhenItFails", "a")]


def test_a_timer_set_last_goes_on_while_all_is_well(hosting: Hosting, clock: ManualClock) -> None:
    class Well(StopsWhenItFails):
        def work(self) -> None:
            self.storage.put("worked", True)

    host = hosting(Well)
    Well.get("a").start()
    host.fire_due()
    clock.move(60)
    assert len(host.fire_due()) == 1


def test_a_basket_ends_when_it_is_checked_out(hosting: Hosting) -> None:
    hosting(Basket)
    Basket.get("ada").put("tea")
    Basket.get("ada").put("cups")
    assert Basket.get("ada").check_out() == ["cups", "tea"]
    assert Basket.list() == []


def test_empty_baskets_are_tidied_up(hosting: Hosting) -> None:
    hosting(Basket)
    Basket.get("ada").put("tea")
    Basket.get("bob").products()
    assert (Basket.count(), tidy_up(), Basket.list()) == (2, 1, ["ada"])


def test_a_caller_says_what_became_of_the_payment(hosting: Hosting) -> None:
    hosting(Account)
    Account.get("ada").deposit(100)
    assert pay("ada", 60) == "paid"
    assert pay("ada", 60) == "refused: 60 cents are more than there is"


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (ObjectUnavailable("Account/ada", "pay", "it is asleep"), "nothing happened: try again"),
        (
            Overloaded("Account/ada", "pay", "1000 callers are waiting already"),
            "nothing happened: try again in a while",
        ),
        (OutcomeUnknown("Account/ada", "pay", "it was killed"), "look at your account before you try again"),
    ],
)
def test_a_caller_tells_the_kinds_of_error_apart(error: Exception, answer: str) -> None:
    class Failing:
        """An owner in whose place every request meets this error; the real ones are shown in tests/melee/objects."""

        def ask(self, request: Request) -> bytes:
            raise error

    with owned_by(Failing()):
        assert pay("ada", 1) == answer


def test_two_objects_that_would_wait_for_each_other_are_told_at_once(hosting: Hosting) -> None:
    hosting(Ping, Pong)
    assert Ping.get("A").serve("B") == "Ping/A → Pong/B → Ping/A"


def test_the_snippets_stay_short() -> None:
    lengths = {file: len(file.read_text().splitlines()) for file in SNIPPETS.rglob("*.py")}
    assert len(lengths) > 10
    assert {file: lines for file, lines in lengths.items() if lines > 40} == {}
