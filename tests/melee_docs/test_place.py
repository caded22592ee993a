"""MkDocs and Zensical build the same proofs from the same pages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from markdown import Markdown

from melee_docs.place import Place, place_of
from tests.melee_docs.conftest import Guide, proven

PAGE = "---\ntitle: Objects\n---\n\n# Objects\n\n```py\na = 1\n```\n"


def test_a_page_outside_a_site_has_no_place() -> None:
    assert place_of(Markdown()) is None


@pytest.mark.parametrize(
    ("url", "directory_urls", "link"),
    [
        ("guide/objects/", True, "../../about/tests/x/"),
        ("./", True, "about/tests/x/"),
        ("guide/objects.html", False, "../about/tests/x.html"),
    ],
)
def test_a_link_leads_from_the_page_to_another(tmp_path: Path, url: str, directory_urls: bool, link: str) -> None:
    place = Place(tmp_path, tmp_path / "docs", "guide/objects.md", url, directory_urls, str)
    assert place.link_to("about/tests/x") == link


def test_zensical_shows_the_same_proofs_and_fails_on_the_same_lines(guide: Guide) -> None:
    pytest.importorskip("zensical", reason="Zensical is not installed; the guide is built by MkDocs")
    guide.configure(theme="{name: material, font: false}")
    guide.write("docs/index.md", "# Start\n\n```py\nb = 1\n```\n")
    guide.write("docs/guide/objects.md", PAGE)
    guide.prove(lambda block: proven(block, "tests", ("tests/test_a.py::test_x",)))
    assert zensical(guide).returncode == 0
    by_zensical = proof_lines(guide)
    guide.build()
    assert by_zensical == proof_lines(guide)
    assert [link["href"] for _, link in by_zensical] == [
        f"{up}about/tests/tests-test_a/#test_x" for up in ("", "../../")
    ]
    guide.write("docs/guide/objects.md", PAGE.replace("a = 1", "a = 2"))
    run = zensical(guide)
    assert "docs/guide/objects.md:7: no proof of this block as it stands" in run.stdout + run.stderr
    assert run.returncode != 0


def proof_lines(guide: Guide) -> list[tuple[str, Tag]]:
    """The words under the block of each page, and their link."""
    pages = [guide.root / "site" / page / "index.html" for page in (".", "guide/objects")]
    lines = [BeautifulSoup(page.read_text("utf-8"), "html.parser").select(".highlight > .proof") for page in pages]
    return [(line.get_text(), line.find_all("a")[0]) for (line,) in lines]


def zensical(guide: Guide) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--config-file", str(guide.root / "mkdocs.yml")],
        env={**os.environ, "MELEE_DOCS_STRICT": "1"},
        cwd=guide.root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
