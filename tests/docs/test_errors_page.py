"""The reference of errors has a heading for each error, and none for what is no error."""

import re
from pathlib import Path

from melee.errors import BadInput, DatabaseError, MeleeError
from tests.melee.test_errors import every_error

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"


def headings(text: str) -> list[str]:
    """The names in `## ErrorName`, outside of fences."""
    outside = re.sub(r"^(`{3,}|~{3,}).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"^## `?(\w+)`?(?: *\{.*\})?$", outside, flags=re.MULTILINE)


def test_the_page_has_a_heading_for_each_error_and_no_other() -> None:
    listed = headings(PAGE.read_text(encoding="utf-8"))
    errors: list[type[MeleeError]] = [MeleeError, BadInput, *every_error()]
    assert sorted(listed) == sorted(error.__name__ for error in errors)


def test_what_the_page_calls_bad_input_is_what_the_code_does() -> None:
    listed = headings(PAGE.read_text(encoding="utf-8"))
    bad_input = listed[listed.index("BadInput") + 1 : listed.index("MigrationError") + 1]
    assert sorted(bad_input) == sorted(error.__name__ for error in every_error() if issubclass(error, BadInput))


def test_the_five_kinds_below_are_those_of_a_database_error() -> None:
    listed = headings(PAGE.read_text(encoding="utf-8"))
    at = listed.index("DatabaseError")
    assert sorted(listed[at + 1 : at + 6]) == sorted(error.__name__ for error in DatabaseError.__subclasses__())


def test_a_heading_inside_a_fence_is_none() -> None:
    assert headings("## ShapeError\n\n```python\n## Fake\n```\n\n### Deeper\n\n## `Deadlock` { #deadlock }\n") == [
        "ShapeError",
        "Deadlock",
    ]
