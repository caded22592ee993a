"""The table of proofs and the pages of tests, as Markdown and as MkDocs builds them."""

import re
from pathlib import Path

from mkdocs.commands.build import build
from mkdocs.config import load_config

from melee_docs.ledger import Ledger, Proof
from melee_docs.report import source_page, write_report, write_test_pages
from tests.melee_docs.a_project import AProject

TESTS = '''
"""Tests of the board."""

import pytest


def helper():
    return "```"


@pytest.mark.parametrize("n", [1, 2])
def test_one(n):
    assert n


class TestBoard:
    def test_two(self):
        assert helper()
'''
PROOFS = [
    Proof("a", "docs/guide/x.md", 4, "python", "tests", ("tests/examples/test_board.py::test_one[1]",)),
    Proof("b", "docs/guide/x.md", 9, "console", "transcript", ("run in an empty folder, output equal",)),
    Proof("c", "docs/guide/y.md", 2, "sql", "applied", (), "no such column: a|b <c> *d*; mend it"),
]


def a_site(tmp_path: Path) -> tuple[AProject, Ledger]:
    project = AProject(tmp_path)
    project.write("tests/examples/test_board.py", TESTS)
    return project, Ledger.of(PROOFS, 0)


def test_the_table_lists_every_block_with_a_link_to_its_page_and_its_test(tmp_path: Path) -> None:
    project, ledger = a_site(tmp_path)
    text = write_report(ledger, project.root).read_text(encoding="utf-8")
    assert text.startswith("3 blocks on 2 pages: 1 by tests, 1 run in a console, 1 without a proof.\n")
    assert "### [docs/guide/x.md](../guide/x.md)" in text
    link = "[`test_one[1]`](tests/tests-examples-test_board.md#test_one)"
    assert f"| 4 | python | tests | {link} |\n" in text
    assert "| 9 | console | transcript | run in an empty folder, output equal |\n" in text
    assert "| 2 | sql | applied | ✗ no such column: a&#124;b &lt;c> &#42;d&#42;; mend it |\n" in text


def test_a_page_of_tests_has_an_anchor_for_each_test_and_all_of_its_source() -> None:
    page = source_page("tests/examples/test_board.py", TESTS)
    assert re.findall(r"{ #(\w+) }", page) == ["test_one", "test_two"]
    assert "search:\n  exclude: true\n" in page
    code = re.findall(r"^````python\n(.*?)\n````$", page, re.DOTALL | re.MULTILINE)
    assert "\n".join(code).split() == TESTS.split()
    assert code[1].startswith("@pytest.mark.parametrize")


def test_only_files_that_prove_something_have_a_page_and_old_pages_go(tmp_path: Path) -> None:
    project, ledger = a_site(tmp_path)
    project.write("docs/about/tests/tests-old.md", "old")
    project.write("tests/examples/test_other.py", TESTS)
    assert write_test_pages(ledger, tmp_path) == [tmp_path / "docs/about/tests/tests-examples-test_board.md"]
    assert [path.name for path in (tmp_path / "docs/about/tests").iterdir()] == ["tests-examples-test_board.md"]


def test_mkdocs_builds_the_links_of_the_table_without_a_warning(tmp_path: Path) -> None:
    project, ledger = a_site(tmp_path)
    for page in ("guide/x", "guide/y"):
        project.write(f"docs/{page}.md", "# Page\n")
    project.write("docs/about/proven.md", write_report(ledger, tmp_path).read_text(encoding="utf-8"))
    write_test_pages(ledger, tmp_path)
    extensions = "markdown_extensions: [attr_list, tables, pymdownx.superfences]\n"
    strict = "validation:\n  links:\n    anchors: warn\n"
    project.write("mkdocs.yml", f"site_name: test\nstrict: true\nplugins: []\n{extensions}{strict}")
    build(load_config(str(tmp_path / "mkdocs.yml")))
    html = (tmp_path / "site/about/proven/index.html").read_text(encoding="utf-8")
    assert 'href="../tests/tests-examples-test_board/#test_one"' in html
    assert 'id="test_one"' in (tmp_path / "site/about/tests/tests-examples-test_board/index.html").read_text()
