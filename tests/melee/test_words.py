"""What a person reads is on one line, and a terminal acts on none of it."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from melee.words import distance, moment, shortened, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("visits", "visits"),
        ("a b, é and 猫", "a b, é and 猫"),
        ("two\nlines", r"two\nlines"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("right\u202eto left", r"right\u202eto left"),
        ("half \ud83d", r"half \ud83d"),
    ],
)
def test_what_a_terminal_would_act_on_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_long_text_is_cut_and_says_how_long_it_was() -> None:
    assert shortened("x" * 10, 10) == "x" * 10
    assert shortened("x" * 1_234, 10) == "xxxxxxxxxx… (1,234 characters)"


def test_a_moment_is_shown_in_the_zone_with_its_name() -> None:
    assert moment(1_900_000_000, UTC) == "2030-03-17 17:46:40 UTC"
    assert moment(1_900_000_000, ZoneInfo("Europe/Paris")) == "2030-03-17 18:46:40 CET"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "now"),
        (0.9, "now"),
        (59, "in 59 s"),
        (-61, "1 min ago"),
        (3 * 3_600 + 59, "in 3 h"),
        (-2 * 86_400, "2 d ago"),
        (1_000 * 86_400, "in 1000 d"),
    ],
)
def test_a_distance_has_one_number_and_the_largest_unit_that_fits(seconds: float, words: str) -> None:
    assert distance(seconds) == words
