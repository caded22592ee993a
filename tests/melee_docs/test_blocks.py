"""Every visible block of every page is collected, with the place of each of its lines."""

from pathlib import Path

import pytest

from melee_docs.blocks import Block, BlockError, Origin, collect
from tests.melee_docs.conftest import ORDERS, SUPERFENCES, Guide

# A line that only this block has, and the line of the page on which its fence opens.
WRITTEN_IN_THE_PAGE = {
    "plain = 1": 9,
    "in_a_tab = 1": 15,
    "in_an_admonition = 1": 27,
    "in_a_list_in_details = 1": 35,
    "in_a_list = 1": 41,
    "in_nested_lists = 1": 49,
    "in_a_definition = 1": 57,
    "in_a_footnote = 1": 66,
    "in_html = 1": 72,
    "in_a_quote = 1": 80,
    "with_tildes = 1": 84,
    "```py\nnot_a_block_of_its_own = 1\n```": 88,
    "annotated = 1  # (1)!": 94,
    "behind_a_tab = 1": 102,
    "graph LR\n  a --> b": 118,
    "plain text": 123,
    "$ echo hello\nhello": 127,
    "[app]": 132,
}


@pytest.fixture
def tortured(guide: Guide) -> dict[str, Block]:
    guide.torture()
    return {block.text: block for block in guide.blocks()}


def test_every_block_that_a_reader_sees_is_found_on_its_line(tortured: dict[str, Block]) -> None:
    found = {text: block.page_line for text, block in tortured.items() if text in WRITTEN_IN_THE_PAGE}
    assert found == WRITTEN_IN_THE_PAGE
    for text, line in WRITTEN_IN_THE_PAGE.items():
        lines = range(line + 1, line + 2 + text.count("\n"))
        assert tortured[text].origins == tuple(Origin(Path("docs/index.md"), number) for number in lines)


def test_nothing_else_is_found(tortured: dict[str, Block]) -> None:
    others = [block for text, block in tortured.items() if text not in WRITTEN_IN_THE_PAGE]
    assert [block.page_line for block in others] == [21, 112, 112, 114, 136]


def test_a_block_in_a_comment_is_not_found(tortured: dict[str, Block]) -> None:
    assert not any("in_a_comment" in text for text in tortured)


def test_the_lines_of_an_included_file_come_from_that_file(tortured: dict[str, Block]) -> None:
    whole = next(block for block in tortured.values() if block.title == "lib/tab.py")
    assert whole.page_line == 21
    assert {origin.file for origin in whole.origins} == {Path("code/whole.py")}
    assert [origin.line for origin in whole.origins] == [1, 2, 4, 6, 7, 8, 9]


def test_the_lines_of_a_section_come_from_its_file_without_their_common_indentation(tortured: dict[str, Block]) -> None:
    section = next(block for block in tortured.values() if block.title == "section.py")
    assert section.text.split("\n")[:2] == ["def setup(self) -> None:", "    self.timer = 1"]
    assert section.origins == tuple(Origin(Path("code/sections.py"), line) for line in (3, 5, 6, 8))


def test_a_fence_in_an_included_page_comes_from_there_and_stands_where_it_is_included(
    tortured: dict[str, Block],
) -> None:
    block = tortured["in_an_included_page = 1"]
    assert (block.page, block.page_line) == (Path("docs/index.md"), 112)
    assert block.origins == (Origin(Path("docs/included.md"), 4),)


def test_blank_lines_at_the_ends_are_not_part_of_a_block(tortured: dict[str, Block]) -> None:
    assert tortured["after_a_blank_line = 1"].origins == (Origin(Path("docs/index.md"), 138),)


def test_options_of_the_fence_are_kept(tortured: dict[str, Block]) -> None:
    assert tortured["annotated = 1  # (1)!"].title == "annotated.py"
    assert tortured["plain text"].skip == "only shown"
    assert tortured["$ echo hello\nhello"].app == "melee_examples/board"
    assert (tortured["[app]"].language, tortured["[app]"].skip) == ("toml", "two options and an attribute")


@pytest.mark.parametrize("extensions", ORDERS.values(), ids=ORDERS.keys())
def test_the_order_of_the_extensions_makes_no_difference(guide: Guide, extensions: str) -> None:
    guide.torture()
    expected = guide.blocks()
    guide.configure(extensions)
    assert guide.blocks() == expected


def test_all_pages_are_read_but_not_those_made_from_the_proofs(guide: Guide) -> None:
    guide.write("docs/b.md", "```py\nb = 1\n```\n")
    guide.write("docs/a/z.md", "```py\nz = 1\n```\n")
    guide.write("docs/about/tests/tests-x.md", '```\n--8<-- "no/such/file"\n```\n\n    indented\n')
    assert {block.page.as_posix() for block in guide.blocks("# Start\n")} == {"docs/b.md", "docs/a/z.md"}


@pytest.mark.parametrize(
    ("before", "line"), [("---\ntitle: x\n---\n\n\n", 6), ("title: x\n\n", 3), ("\n\n\n", 4), ("\ufeff\n", 2), ("", 1)]
)
def test_what_mkdocs_strips_from_the_top_counts_in_the_line(guide: Guide, before: str, line: int) -> None:
    (block,) = guide.blocks(f"{before}```py\na = 1\n```\n")
    assert block.page_line == line
    assert block.origins == (Origin(Path("docs/index.md"), line + 1),)


def test_the_problems_of_all_pages_are_told_at_once(guide: Guide) -> None:
    guide.write("docs/b.md", "```\nb = 1\n```\n")
    problems = guide.problems("```py\na = 1\n```\n\n```\nno language\n```\n\n```text\nno reason\n```\n")
    assert [line.partition(": ")[0] for line in problems] == ["docs/b.md:1", "5", "9"]


def test_a_report_that_is_made_from_the_blocks_need_not_be_there_yet(guide: Guide) -> None:
    assert guide.blocks('--8<-- ".proof/report.md"\n') == []


def test_a_configuration_without_the_extension_is_refused(guide: Guide) -> None:
    guide.configure(SUPERFENCES)
    with pytest.raises(BlockError, match=r"^mkdocs.yml:0: markdown_extensions lacks melee_docs.markdown; add it$"):
        guide.blocks("# Start\n")


def test_a_configuration_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BlockError, match=r"mkdocs.yml:0: Config file '.*' does not exist"):
        collect(tmp_path)


def test_a_documented_object_that_is_not_there_is_a_problem_of_its_page(guide: Guide) -> None:
    guide.configure(more="plugins:\n  - mkdocstrings:\n      handlers:\n        python:\n          paths: [.]\n")
    assert guide.problems("::: shown.nothing\n") == ["0: Could not collect 'shown.nothing'"]


def test_a_block_in_a_docstring_is_a_block_of_the_page_that_renders_it(guide: Guide) -> None:
    guide.configure(more="plugins:\n  - mkdocstrings:\n      handlers:\n        python:\n          paths: [.]\n")
    guide.write("shown/__init__.py", "")
    guide.write(
        "shown/thing.py",
        'def thing() -> None:\n    """Does it.\n\n    ```py\n    in_a_docstring = 1\n    ```\n    """\n',
    )
    second, first = guide.blocks("```py\na = 1\n```\n\n::: shown.thing\n\n")
    assert (first.text, first.page_line) == ("a = 1", 1)
    assert (second.text, second.page, second.page_line) == ("in_a_docstring = 1", Path("docs/index.md"), 0)


def test_a_problem_in_a_docstring_names_the_documented_object(guide: Guide) -> None:
    guide.configure(more="plugins:\n  - mkdocstrings:\n      handlers:\n        python:\n          paths: [.]\n")
    guide.write("shown/__init__.py", "")
    guide.write("shown/other.py", 'def thing() -> None:\n    """Does it.\n\n    ```\n    x\n    ```\n    """\n')
    (problem,) = guide.problems("::: shown.other\n")
    assert problem.startswith("0: in the docstring of shown.other.thing: the fence names no language; ")


def test_the_key_changes_with_all_that_is_shown_and_where_it_comes_from() -> None:
    origin = Origin(Path("a.py"), 1)
    block = Block(Path("p.md"), 1, "py", "x", (origin,))
    assert block.key == Block(Path("p.md"), 9, "py", "x", (origin,)).key
    others = [
        Block(Path("q.md"), 1, "py", "x", (origin,)),
        Block(Path("p.md"), 1, "sh", "x", (origin,)),
        Block(Path("p.md"), 1, "py", "y", (origin,)),
        Block(Path("p.md"), 1, "py", "x", (Origin(Path("a.py"), 2),)),
        Block(Path("p.md"), 1, "py", "x", (Origin(Path("p.md"), 2),)),
        Block(Path("p.md"), 1, "py", "x", (origin,), title="melee.toml"),
        Block(Path("p.md"), 1, "py", "x", (origin,), skip="why"),
        Block(Path("p.md"), 1, "py", "x", (origin,), app="board"),
    ]
    assert len({block.key, *(other.key for other in others)}) == 1 + len(others)


def test_a_block_that_moves_on_the_page_it_is_written_in_keeps_its_key(guide: Guide) -> None:
    (before,) = guide.blocks("```py\na = 1\n```\n")
    (after,) = guide.blocks("A paragraph above it.\n\n```py\na = 1\n```\n")
    assert after.origins != before.origins
    assert after.key == before.key
