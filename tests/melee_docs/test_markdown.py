"""The built site shows under each block what proves it, and a strict build fails where nothing does."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from markdown import Markdown

from melee_docs.blocks import BlockError
from tests.melee_docs.conftest import ORDERS, TORTURE, Guide, proven

MISSING = "no proof of this block as it stands; run `python -m melee_docs prove`"
TESTS = ("tests/examples/test_board.py::test_a", "tests/examples/test_board.py::test_b[x-1]")


def proofs(page: str) -> list[Tag]:
    return BeautifulSoup(page, "html.parser").select(".proof")


def texts(page: str) -> list[str]:
    return [proof.get_text() for proof in proofs(page)]


def test_the_proof_stands_inside_the_highlighted_block(guide: Guide) -> None:
    guide.write("docs/index.md", "```py\na = 1\n```\n")
    guide.prove(proven)
    page = guide.build()
    (proof,) = proofs(page)
    assert proof.get_text() == "✓ run where it stands, output equal"
    assert proof.parent is not None
    assert proof.parent["class"] == ["language-py", "highlight"]
    assert proof.has_attr("data-search-exclude")


def test_the_search_finds_the_page_and_not_its_proofs(guide: Guide) -> None:
    guide.write("docs/index.md", "# Midnight\n\n```py\na = 1\n```\n")
    guide.configure(more="plugins: [search]\n", theme="{name: material, font: false}")
    guide.prove(proven)
    guide.build()
    index = (guide.root / "site/search/search_index.json").read_text("utf-8")
    assert "Midnight" in index
    assert "output equal" not in index


@pytest.mark.parametrize(("drawn_from", "tag"), [("fence_code_format", "pre"), ("fence_div_format", "div")])
def test_a_diagram_has_its_proof_right_behind_it(guide: Guide, drawn_from: str, tag: str) -> None:
    guide.configure(ORDERS["ours last"].replace("fence_code_format", drawn_from))
    guide.write("docs/index.md", "```mermaid\ngraph LR\n  a --> b\n```\n")
    guide.prove(lambda block: proven(block, "drawn", ("parsed by mermaid",)))
    (proof,) = proofs(guide.build())
    assert proof.get_text() == "✓ parsed by mermaid"
    diagram = proof.find_previous_sibling()
    assert isinstance(diagram, Tag)
    assert (diagram.name, diagram["class"]) == (tag, ["mermaid"])


@pytest.mark.parametrize(
    ("kind", "evidence", "shown"),
    [
        ("tests", TESTS[:1], "✓ proven by test_a"),
        ("tests", TESTS, "✓ proven by test_a, test_b"),
        ("tests", (*TESTS, "tests/t.py::TestX::test_c", "tests/t.py::test_d"), "✓ proven by test_a, test_b and 2 more"),
        ("tests", (TESTS[1], "tests/examples/test_board.py::test_b[x-2]"), "✓ proven by test_b"),
        ("rendered", TESTS[:1], "✓ rendered by test_a"),
        ("executed", ("run where it stands, output equal",), "✓ run where it stands, output equal"),
        ("transcript", ("run in an empty folder, output equal",), "✓ run in an empty folder, output equal"),
        ("applied", ("prepared against the migrated database of a",), "✓ prepared against the migrated database of a"),
        ("config", ("read by melee <1>",), "✓ read by melee <1>"),
    ],
)
def test_the_line_says_what_proves_the_block(guide: Guide, kind: str, evidence: tuple[str, ...], shown: str) -> None:
    guide.write("docs/index.md", "```py\na = 1\n```\n")
    guide.prove(lambda block: proven(block, kind, evidence))
    assert texts(guide.build()) == [shown]


def test_a_test_is_linked_to_its_source(guide: Guide) -> None:
    guide.write("docs/guide/objects.md", "```py\na = 1\n```\n")
    guide.write("docs/index.md", "```py\na = 1\n```\n")
    guide.prove(lambda block: proven(block, "tests", TESTS))
    links = re.findall(r'<a href="([^"]*)">test_b', guide.build())
    assert links == ["about/tests/tests-examples-test_board/#test_b"]
    nested = (guide.root / "site/guide/objects/index.html").read_text("utf-8")
    assert '<a href="../../about/tests/tests-examples-test_board/#test_a">test_a</a>' in nested


def test_links_lead_to_files_where_the_site_is_read_from_a_folder(guide: Guide) -> None:
    guide.configure(more="plugins: []\nuse_directory_urls: false\n")
    guide.write("docs/index.md", "```py\na = 1\n```\n")
    guide.prove(lambda block: proven(block, "tests", TESTS[:1]))
    assert '<a href="about/tests/tests-examples-test_board.html#test_a">' in guide.build()


def test_a_block_that_is_not_run_says_why(guide: Guide) -> None:
    guide.write("docs/index.md", '```text skip="a < b"\na\n```\n')
    guide.prove(lambda block: proven(block, "skipped"))
    assert texts(guide.build()) == ["not run: a < b"]


def test_what_is_shown_equals_the_file_but_for_its_marker_lines(guide: Guide) -> None:
    guide.torture()
    soup = BeautifulSoup(guide.build(), "html.parser")
    (block,) = [shown.parent for shown in soup.select(".filename") if shown.get_text() == "lib/tab.py"]
    assert block is not None
    written = (TORTURE / "code" / "whole.py").read_text(encoding="utf-8")
    expected = "".join(line for line in written.splitlines(keepends=True) if "--8<--" not in line)
    assert expected.count("\n") == written.count("\n") - 2
    code = block.select_one("code")
    assert code is not None
    assert code.get_text() == expected


def test_the_lines_of_a_named_section_are_highlighted(guide: Guide) -> None:
    guide.torture()
    soup = BeautifulSoup(guide.build(), "html.parser")
    marked = [line.get_text() for line in soup.select(".hll")]
    assert marked == ["    self.timer = 1\n", "    self.other = 2\n"]


def test_lines_are_highlighted_by_name_in_code_that_the_page_itself_has(guide: Guide) -> None:
    marked = "# --8<-- [start:second]\nb = 2\n# --8<-- [end:second]\n"
    guide.write("docs/index.md", f'```py highlight="second"\n\na = 1\n{marked}```\n')
    soup = BeautifulSoup(guide.build(), "html.parser")
    assert [line.get_text() for line in soup.select(".hll")] == ["b = 2\n"]


def test_the_copy_button_of_a_transcript_copies_the_commands(guide: Guide) -> None:
    guide.write("docs/index.md", '```console app="a"\n$ echo "a" \\\n> b\na b\n$ ls\n```\n')
    guide.prove(lambda block: proven(block, "transcript"))
    soup = BeautifulSoup(guide.build(), "html.parser")
    block = soup.select_one(".language-console.highlight")
    assert block is not None
    assert block["data-copy"] == 'echo "a" \\\nb\nls'


def test_every_block_of_the_torture_page_shows_its_proof(guide: Guide) -> None:
    guide.torture()
    guide.prove(proven)
    page = guide.build()
    assert len(proofs(page)) == len(guide.blocks())
    assert "proof--missing" not in page
    assert "data-block" not in page


def test_a_lenient_build_shows_what_is_not_proven(guide: Guide) -> None:
    guide.write("docs/index.md", "```py\na = 1\n```\n\n```py\nb = 1\n```\n")
    guide.prove(lambda block: proven(block, problem="line 1 ran in no test" if "b" in block.text else ""))
    guide.write("docs/index.md", "```py\na = 2\n```\n\n```py\nb = 1\n```\n\n```\nc\n```\n")
    assert texts(guide.build()) == [
        '✗ docs/index.md:9: the fence names no language; name one, or `text` with skip="reason"',
        f"✗ {MISSING}",
        "✗ line 1 ran in no test",
        f"✗ {MISSING}",
    ]


def test_a_problem_is_shown_once_and_in_no_heading(guide: Guide) -> None:
    guide.write("docs/index.md", "# Start\n\n## Second\n\nText.\n\n- ```py\n\n## Third\n")
    page = guide.build()
    assert page.count("✗") == 1
    assert BeautifulSoup(page, "html.parser").find("h1", string="Start") is not None


def test_a_strict_build_fails_with_every_problem_of_the_page_in_short_lines(guide: Guide) -> None:
    guide.write("docs/index.md", "```py\na = 1\n```\n\n```py\nb = 1\n```\n")
    guide.prove(lambda block: proven(block, problem="line 1 ran in no test" if "b" in block.text else ""))
    guide.write("docs/index.md", "```py\na = 2\n```\n\n```py\nb = 1\n```\n\n```\nc\n```\n")
    run = mkdocs(guide, strict="1")
    assert run.returncode == 1
    assert "Traceback" not in run.stderr
    told = [line for line in run.stderr.splitlines() if "docs/index.md:" in line]
    assert [line.removeprefix("ERROR   -  ").strip() for line in told] == [
        f"docs/index.md:1: {MISSING}",
        "docs/index.md:5: line 1 ran in no test",
        f"docs/index.md:9: {MISSING}",
        'docs/index.md:9: the fence names no language; name one, or `text` with skip="reason"',
    ]
    assert not (guide.root / "site" / "index.html").exists()


def test_a_strict_build_passes_where_every_block_is_proven(guide: Guide) -> None:
    guide.torture()
    guide.prove(proven)
    run = mkdocs(guide, strict="1")
    assert (run.returncode, "✗" in run.stderr) == (0, False)
    assert (guide.root / "site" / "index.html").exists()


def test_a_strict_build_without_a_ledger_fails(guide: Guide) -> None:
    guide.write("docs/index.md", "```py\na = 1\n```\n")
    run = mkdocs(guide, strict="1")
    assert run.returncode == 1
    assert f"docs/index.md:1: {MISSING}" in run.stderr


def test_a_build_is_lenient_unless_the_environment_says_strict(guide: Guide) -> None:
    guide.write("docs/index.md", "```py\na = 1\n```\n")
    assert mkdocs(guide, strict="").returncode == 0


def test_strictness_can_be_set_in_the_configuration(guide: Guide) -> None:
    guide.write("docs/index.md", "```py\na = 1\n```\n")
    guide.configure("  - pymdownx.superfences\n  - melee_docs.markdown:\n      strict: true\n")
    assert mkdocs(guide, strict="").returncode == 1
    guide.prove(proven)
    assert mkdocs(guide, strict="").returncode == 0


def test_a_problem_is_told_on_the_line_it_is_about_even_when_the_block_has_moved(guide: Guide) -> None:
    guide.write("code.py", "a = 1\nb = 2\n")
    shown = '```py\n--8<-- "code.py"\n```\n'
    guide.write("docs/index.md", shown)
    guide.prove(lambda block: replace(proven(block, problem="never ran"), problem_line=block.page_line + 1))
    guide.write("docs/index.md", f"Text.\n\n{shown}")
    assert "docs/index.md:4: never ran" in mkdocs(guide, strict="1").stderr


def test_a_ledger_that_is_written_anew_is_read_anew(guide: Guide) -> None:
    guide.write("docs/index.md", "```py\na = 1\n```\n")
    guide.prove(lambda block: proven(block, problem="not yet"))
    assert texts(guide.build()) == ["✗ not yet"]
    guide.prove(proven)
    assert texts(guide.build()) == ["✓ run where it stands, output equal"]


@pytest.mark.parametrize("content", ["[{]", '[{"key": 1}]', '{"proofs": []}', ""])
def test_a_ledger_that_cannot_be_read_proves_nothing_and_says_so(guide: Guide, content: str) -> None:
    guide.write("docs/index.md", "```py\na = 1\n```\n")
    guide.write(".proof/proof.json", content)
    broken, missing = texts(guide.build())
    assert broken.startswith("✗ .proof/proof.json:0: not a ledger of proofs (")
    assert missing == f"✗ {MISSING}"


def test_a_page_that_a_plugin_changed_has_lost_its_lines(guide: Guide) -> None:
    guide.configure(more="plugins: []\nhooks: [hook.py]\n")
    guide.write("hook.py", "def on_page_markdown(markdown, **_):\n    return markdown + '\\nMore.'\n")
    guide.write("docs/index.md", "# Start\n")
    assert "docs/index.md:0: a plugin changed the page before Markdown saw it, " in mkdocs(guide, strict="1").stderr


def test_an_included_report_that_is_missing_fails_only_the_site(guide: Guide) -> None:
    guide.write("docs/index.md", '--8<-- ".proof/report.md"\n')
    assert guide.blocks() == []
    run = mkdocs(guide, strict="1")
    assert "docs/index.md:1: the include '.proof/report.md' is not a file; " in run.stderr


def test_pages_made_from_the_proofs_are_shown_as_they_are(guide: Guide) -> None:
    guide.write("docs/index.md", "# Start\n")
    guide.write("docs/about/tests/tests-x.md", '```py\n"""\n--8<-- "no/such"\n"""\n```\n\n```\nplain\n```\n')
    assert mkdocs(guide, strict="1").returncode == 0
    page = (guide.root / "site/about/tests/tests-x/index.html").read_text("utf-8")
    assert proofs(page) == []
    assert '--8<-- "no/such"' in BeautifulSoup(page, "html.parser").get_text()


def test_a_block_in_a_docstring_needs_a_proof_and_shows_it(guide: Guide) -> None:
    guide.configure(more="plugins:\n  - mkdocstrings:\n      handlers:\n        python:\n          paths: [.]\n")
    guide.write("documented.py", 'def thing() -> None:\n    """Does it.\n\n    ```py\n    a = 1\n    ```\n    """\n')
    guide.write("docs/index.md", "```py\nb = 1\n```\n\n::: documented.thing\n")
    run = mkdocs(guide, strict="1")
    assert f"docs/index.md:0: in the docstring of documented.thing: {MISSING}" in run.stderr
    guide.prove(proven)
    assert mkdocs(guide, strict="1").returncode == 0
    page = (guide.root / "site/index.html").read_text("utf-8")
    assert texts(page) == ["✓ run where it stands, output equal"] * 2


def test_blocks_are_found_outside_mkdocs_too(tmp_path: Path) -> None:
    md = Markdown(
        extensions=["melee_docs.markdown", "pymdownx.superfences"],
        extension_configs={"melee_docs.markdown": {"root": str(tmp_path), "strict": True}},
    )
    with pytest.raises(BlockError, match=re.escape(f"page.md:1: {MISSING}")):
        md.convert("```py\na = 1\n```\n")
    assert md.convert("Text.") == "<p>Text.</p>"


def mkdocs(guide: Guide, strict: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--config-file", str(guide.root / "mkdocs.yml")],
        env={**os.environ, "MELEE_DOCS_STRICT": strict},
        cwd=Path.home(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
