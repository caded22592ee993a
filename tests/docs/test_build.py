"""Every page and heading that the build step sends a reader to is there, and says of the same names what to use."""

import re
from pathlib import Path

import pytest
from markdown.extensions.toc import slugify

from melee.builder import guide
from melee.builder.build import build
from melee.builder.refusals import NAMES, PACKAGES
from melee.project import Project
from tests.examples.copied import copy_of
from tests.melee.server.served_app import edit

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


def test_what_people_reach_for_is_refused_and_leads_to_the_section_of_its_row() -> None:
    page = (DOCS / "guide" / "background-work.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(.+?)\]\(#(.+?)\)", page.partition("## What is not the answer")[2], re.MULTILINE)
    refused = {name.lower(): refusal.see for name, refusal in (NAMES | PACKAGES).items()}
    refused["multiprocessing"] = refused["multiprocessing.process"]
    named = {
        name.lower(): f"guide/background-work#{anchor}"
        for row, anchor in rows
        for name in re.findall(r"[\w.]+", row.partition(", a pool of")[0])
    }
    assert len(named) == 11
    assert named == {name: refused.get(name) for name in named}


def test_a_mistake_leaves_the_list_of_what_can_be_called_as_it_was(tmp_path: Path) -> None:
    folder = copy_of(DOCS.parent / "melee_examples" / "board", tmp_path)
    assert build(Project.at(folder)) == []
    before = (folder / ".melee" / "objects.py").read_text()
    edit(folder / "lib" / "stats.py", "def today(self)", "async def this_day(self)")
    assert len(build(Project.at(folder))) == 1
    assert (folder / ".melee" / "objects.py").read_text() == before
