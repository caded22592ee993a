"""Numbers that stand in sentences of the guide are those of the code."""

import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from melee.cli.dev import LOOK_SECONDS
from melee.objects.registry import RETRY_SECONDS_AT_MOST
from melee.objects.request import CALL_SECONDS, ID_CHARACTERS_AT_MOST
from melee.project import Config, ObjectsConfig
from melee.store.connection import BUSY_SECONDS

DOCS = Path(__file__).parents[2] / "docs"
DURABLE = "guide/durable-objects.md"
DEFAULTS = ObjectsConfig()
WORDS = {1: "once a second", 5: "five seconds", 60: "a minute"}


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        (DURABLE, f"any text from 1 to {ID_CHARACTERS_AT_MOST:,} characters"),
        (DURABLE, f"no answer in {CALL_SECONDS} seconds"),
        (DURABLE, f"when nobody calls it** for {WORDS[int(DEFAULTS.idle_seconds)]}"),
        (DURABLE, f"when more than {DEFAULTS.open_at_most} objects are open"),
        (DURABLE, f"2, 4, 8 seconds, up to {RETRY_SECONDS_AT_MOST // 60} minutes"),
        ("reference/commands.md", f"| `[objects] idle_seconds` | {DEFAULTS.idle_seconds:g} |"),
        ("reference/commands.md", f"| `[objects] open_at_most` | {DEFAULTS.open_at_most} |"),
        ("reference/commands.md", f"bout {WORDS[LOOK_SECONDS]}"),
        ("reference/errors.md", f"for more than {WORDS[BUSY_SECONDS]}"),
        ("tutorial/5-work-that-happens-on-its-own.md", f"bout {WORDS[LOOK_SECONDS]}"),
    ],
)
def test_a_number_in_a_sentence_is_the_one_in_the_code(page: str, sentence: str) -> None:
    assert sentence in (DOCS / page).read_text()


@pytest.mark.parametrize("file", ["README.md", "CONTRIBUTING.md", "melee_examples/board/README.md"])
def test_the_python_that_a_reader_needs_is_the_one_that_pip_asks_for(file: str) -> None:
    oldest = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["project"]["requires-python"]
    assert f"You need Python {oldest.removeprefix('>=')} or newer" in (DOCS.parent / file).read_text()


def test_the_table_of_melee_toml_names_each_key_and_no_other() -> None:
    listed = re.findall(r"^\| `(\[\w+\] \w+)` \|", (DOCS / "reference" / "commands.md").read_text(), re.MULTILINE)
    sections = {section.name: section.type for section in msgspec.structs.fields(Config)}
    keys = [f"[{name}] {key.name}" for name, section in sections.items() for key in msgspec.structs.fields(section)]
    assert sorted(listed) == sorted(keys)


def test_the_board_keeps_as_many_days_as_its_readme_says() -> None:
    board = DOCS.parent / "melee_examples" / "board"
    kept = re.search(r"KEPT_DAYS = (\d+)", (board / "lib" / "stats.py").read_text())
    assert kept
    assert f"of the {kept[1]} days before it" in (board / "README.md").read_text()
