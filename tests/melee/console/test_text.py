"""Whatever others wrote is shown whole or cut, and does nothing to the page."""

from typing import Any

import pytest

from melee.console.text import LETTERS_AT_MOST, Text, text


@pytest.mark.parametrize(
    ("given", "beginning"),
    [
        ("a short text", "a short text"),
        ("", ""),
        ("right\u202eto left", r"right\u202eto left"),
        ("half \ud83d", r"half \ud83d"),
        ("nothing \0", r"nothing \x00"),
        (None, "None"),
        (7, "7"),
        (b"\xff", r"b'\xff'"),
    ],
)
def test_a_short_text_is_one_line_in_which_nothing_acts(given: Any, beginning: str) -> None:
    assert text(given) == Text(beginning, "")


def test_of_several_lines_the_first_is_the_beginning() -> None:
    assert text("ValueError: no\n\n  File \u202e\n") == Text("ValueError: no …", "ValueError: no\n\n  File \\u202e")


def test_a_long_line_is_whole_behind_its_beginning() -> None:
    assert text("x" * 1_024) == Text("x" * 120 + " …", "x" * 1_024)


def test_a_text_without_end_is_cut_and_says_how_long_it_is() -> None:
    shown = text("x" * 1_000_000)
    assert len(shown.whole) < LETTERS_AT_MOST + 100
    assert shown.whole.endswith(f"… (1,000,000 characters; the first {LETTERS_AT_MOST:,} are shown)")
