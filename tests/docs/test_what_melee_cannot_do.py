"""What the page on the limits of melee says of its fragments, and that its tables are read from the code."""

from pathlib import Path

import pytest

from melee.clock import ManualClock
from snippets.what_melee_cannot_do.importing import LINES_AT_ONCE, Import
from snippets.what_melee_cannot_do.table import TABLES, table
from snippets.what_melee_cannot_do.units import size
from tests.docs.conftest import Hosting

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guide" / "what-melee-cannot-do.md").read_text(encoding="utf-8")
TABLES_SHOWN = ROOT / "snippets" / "what_melee_cannot_do"


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_limits_is_what_the_code_says_today(name: str) -> None:
    shown = (TABLES_SHOWN / f"{name}.md").read_text(encoding="utf-8")
    again = "run python -m snippets.what_melee_cannot_do.table"
    assert shown == table(TABLES[name]), again


def test_the_page_shows_each_table() -> None:
    shown = [f'--8<-- "snippets/what_melee_cannot_do/{name}.md"' for name in TABLES]
    assert [line for line in PAGE.splitlines() if line in shown] == shown


def test_a_limit_that_is_no_whole_number_of_kib_is_not_rounded() -> None:
    assert (size(32 * 1024**2), size(8 * 1024)) == ("32&nbsp;MiB", "8&nbsp;KiB")
    with pytest.raises(ValueError, match="1025 bytes are no whole KiB"):
        size(1025)


def test_a_long_import_is_done_in_steps_between_which_others_have_their_turn(
    hosting: Hosting, clock: ManualClock
) -> None:
    host = hosting(Import)
    prices = Import.get("prices")
    prices.begin([f"tea {number},{number}" for number in range(2 * LINES_AT_ONCE + 1)])
    left = [prices.waiting()]
    while host.fire_due():
        left.append(prices.waiting())
    assert left == [2 * LINES_AT_ONCE + 1, LINES_AT_ONCE + 1, 1, 0]


def test_each_thing_that_cannot_be_done_says_what_to_do_instead() -> None:
    until_limits = PAGE.partition("## Long work")[0]
    entries = [part for part in until_limits.split("\n\n") if part.startswith("**")]
    assert len(entries) > 15
    assert [entry for entry in entries if "\n: *Instead:* " not in entry and "](serving.md#" not in entry] == []
