"""The reference of errors has a heading for each error, and none for what is no error."""

import re
from pathlib import Path

from melee.errors import BadInput, MeleeError
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


def test_a_heading_inside_a_fence_is_none() -> None:
    assert headings("## ShapeError\n\n```python\n## Fake\n```\n\n### Deeper\n\n## `Deadlock` { #deadlock }\n") == [
        "ShapeError",
        "Deadlock",
    ]
