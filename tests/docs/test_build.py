"""Every page and heading that the build step sends a reader to is there."""

import re
from pathlib import Path

import pytest
from markdown.extensions.toc import slugify

from melee.builder import guide

DOCS = Path(__file__).parents[2] / "docs"
PLACES = sorted({value for name, value in vars(guide).items() if name.isupper() and "#" in value})


def anchors(text: str) -> set[str]:
    """Those of the headings on a page."""
    outside = re.sub(r"^(`{3,}|~{3,}).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    return {slugify(heading, "-") for heading in re.findall(r"^#+ (.+)$", outside, re.MULTILINE)}


@pytest.mark.parametrize("place", PLACES)
def test_a_finding_leads_to_a_heading_of_the_guide(place: str) -> None:
    page, _, anchor = place.partition("#")
    assert anchor in anchors((DOCS / f"{page}.md").read_text(encoding="utf-8"))


def test_a_heading_inside_a_fence_is_no_anchor() -> None:
    assert anchors("# A\n\n```sh\n# B\n```\n\n## C d\n") == {"a", "c-d"}
