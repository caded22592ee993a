"""What chapter 5 says of its fragments; the board's own tests show the rest."""

import pytest

from melee.clock import ManualClock
from melee.errors import ShapeError
from snippets.durable_objects.counter import Counter
from snippets.tutorial_5.last_seen import Door
from snippets.tutorial_5.misspelt import count_wrongly
from snippets.tutorial_5.when import Diary, write_diary
from tests.docs.conftest import Hosting


def test_a_misspelt_method_is_noticed_when_the_line_runs(hosting: Hosting) -> None:
    hosting(Counter)
    with pytest.raises(AttributeError, match="'CounterHandle' object has no attribute 'ad'"):
        count_wrongly()


def test_storage_keeps_single_values_under_keys(hosting: Hosting, clock: ManualClock) -> None:
    hosting(Door)
    assert Door.get("front").last_seen() == "never"
    Door.get("front").knock()
    clock.move(60)
    assert Door.get("front").last_seen() == "2030-01-01T00:00:00+00:00"


def test_a_datetime_is_refused_with_the_path_to_it(hosting: Hosting) -> None:
    hosting(Diary)
    with pytest.raises(ShapeError) as raised:
        write_diary()
    assert str(raised.value) == (
        'Diary.note argument 2, ["when"]: datetime is not JSON-shaped; pass an ISO string or a number'
    )
    Diary.get("mine").note("hello", {"when": "today"})
    assert Diary.count() == 1
