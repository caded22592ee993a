"""Includes keep the place of every line, and markers that would hide code are refused."""

from pathlib import Path

import pytest
from markdown import Markdown
from pymdownx.snippets import SnippetExtension, SnippetPreprocessor

from melee_docs.blocks import Origin
from melee_docs.sources import Includes, Line, PageInWork, sections_of
from tests.melee_docs.conftest import Guide

SHOWN = '```py\n--8<-- "{}"\n```\n'


def test_a_line_keeps_its_place_behind_indentation() -> None:
    line = Line.of("x = 1", Origin(Path("a.py"), 3), 7, frozenset({"s"}))
    indented = "    " + line
    assert isinstance(indented, Line)
    assert indented == "    x = 1"
    assert (indented.origin, indented.page_line, indented.sections) == (line.origin, 7, frozenset({"s"}))
    assert indented.written == "x = 1"


def test_a_section_is_shown_without_any_marker_line(guide: Guide) -> None:
    guide.write(
        "a.sql",
        "-- --8<-- [start:all]\nSELECT 1;\n-- --8<-- [start:in]\nSELECT 2;\n-- --8<-- [end:in]\n-- --8<-- [end:all]\n",
    )
    (block,) = guide.blocks('```sql\n--8<-- "a.sql:all"\n```\n')
    assert block.text == "SELECT 1;\nSELECT 2;"
    assert [origin.line for origin in block.origins] == [2, 4]


@pytest.mark.parametrize(
    "comment", ["# {}", "-- {}", "// {}", "<!-- {} -->", "{{# {} #}}", "/* {} */", "; {}", "  # {}"]
)
def test_a_marker_stands_in_the_comment_of_any_language(comment: str) -> None:
    refused: list[int] = []
    lines = [comment.format("--8<-- [start:a]"), "code", comment.format("--8<-- [end:a]"), "more"]
    assert sections_of(lines, lambda index, _: refused.append(index)) == [{"a"}, {"a"}, set(), set()]
    assert refused == []


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (
            'a = "--8<-- [start:x]"\n# --8<-- [end:x]\n',
            "code.py:1: the marker of section 'x' shares its line with code; ",
        ),
        ("a = 1  # --8<-- [start:x]\n", "code.py:1: the marker of section 'x' shares its line with code; "),
        ("# --8<-- [start:x]\na = 1\n", "code.py:1: section 'x' has no end; "),
        ("a = 1\n# --8<-- [end:x]\n", "code.py:2: section 'x' ends here and is not open; "),
        (
            "# --8<-- [start:x]\n# --8<-- [end:x]\n# --8<-- [start:x]\n# --8<-- [end:x]\n",
            "code.py:3: section 'x' was started above; names are unique in a file",
        ),
        (
            "# --8<-- [start:x]\n# --8<-- [start:x]\n# --8<-- [end:x]\n",
            "code.py:2: section 'x' was started above and is still open; ",
        ),
        ("# --8<-- [begin:x]\n", "code.py:1: '# --8<-- [begin:x]' is not read as an include; "),
    ],
)
def test_a_bad_marker_in_an_included_file_is_refused_at_its_line(guide: Guide, source: str, problem: str) -> None:
    guide.write("code.py", "b = 1\n" + source)
    line = int(problem.split(":")[1])
    assert any(
        told.startswith(problem.replace(f":{line}:", f":{line + 1}:", 1))
        for told in guide.problems(SHOWN.format("code.py"))
    )


@pytest.mark.parametrize(
    ("include", "problem"),
    [
        ("no/such.py", "2: the include 'no/such.py' is not a file; its path is relative to the project's root"),
        ("../outside.py", "2: the include '../outside.py' is not a file; "),
        ("https://example.org/a.py", "2: the include 'https://example.org/a.py' is not a file; "),
        ("code.py:other", "2: the included file has no section 'other' with lines in it; "),
        ("code.py:1:2", "2: the include 'code.py:1:2' names line numbers, which drift; "),
        ("folder", "2: the include 'folder' cannot be read: "),
        ("image.png", "2: the include 'image.png' cannot be read: "),
    ],
)
def test_an_include_that_cannot_be_shown_is_refused_at_the_pages_line(guide: Guide, include: str, problem: str) -> None:
    guide.write("code.py", "# --8<-- [start:x]\na = 1\n# --8<-- [end:x]\n")
    guide.write("folder/a.py", "a = 1\n")
    (guide.root / "image.png").write_bytes(b"\x89PNG\r\n\xff")
    assert any(told.startswith(problem) for told in guide.problems(SHOWN.format(include)))


def test_a_block_whose_include_is_refused_is_refused_once(guide: Guide) -> None:
    (problem,) = guide.problems('```console\n--8<-- "no/such.txt"\n```\n')
    assert problem.startswith("2: the include 'no/such.txt' is not a file; ")


def test_an_include_that_reaches_itself_is_refused(guide: Guide) -> None:
    guide.write("a.md", 'a\n\n--8<-- "b.md"\n')
    guide.write("b.md", 'b\n\n--8<-- "a.md"\n')
    assert guide.problems('\n--8<-- "a.md"\n') == [
        "2: the include 'a.md' is reached from itself; take one of the two includes out"
    ]


@pytest.mark.parametrize("line", ['> --8<-- "a.md"', '- --8<-- "a.md"', '1. --8<-- "a.md"', '--8<-- "a.md" and more'])
def test_an_include_that_is_not_expanded_is_refused(guide: Guide, line: str) -> None:
    guide.write("a.md", "a\n")
    (problem,) = guide.problems(f"Text.\n\n{line}\n")
    assert problem == f"3: {line!r} is not read as an include; put it alone on its line, behind spaces only"


def test_an_include_is_shown_as_it_is_written_behind_a_semicolon(guide: Guide) -> None:
    (block,) = guide.blocks('```markdown\n;--8<-- "a.py:x"\n# ;--8<-- [start:x]\n```\n')
    assert block.text == '--8<-- "a.py:x"\n# --8<-- [start:x]'
    assert [origin.line for origin in block.origins] == [2, 3]


def test_inline_code_may_speak_of_includes(guide: Guide) -> None:
    assert guide.blocks('`--8<-- "a.py"` shows a file, and so does writing --8<-- in the text.\n') == []


def test_a_tab_in_an_included_file_is_refused_as_it_would_be_shown_as_spaces(guide: Guide) -> None:
    guide.write("code.py", "if 1:\n\ta = 1\n")
    assert guide.problems(SHOWN.format("code.py")) == [
        "1: code.py:2 would be shown otherwise than it is written; use no tabs and controls"
    ]


def test_pymdown_still_has_the_inner_steps_that_includes_build_on(tmp_path: Path) -> None:
    """Each of these is overridden or called by Includes; a release that renames one must fail here first."""
    for step in ("run", "parse_snippets", "match_section", "parse_snippet_target", "get_snippet_path", "read_lines"):
        assert callable(getattr(SnippetPreprocessor, step))
    plain = SnippetPreprocessor(SnippetExtension().getConfigs(), Markdown())
    assert plain.read_lines(_file(tmp_path, "a\nb\n")) == ["a", "b", ""]
    assert plain.dedent(["  a", "    b"]) == ["a", "  b"]
    assert plain.extract_section("x", ["# --8<-- [start:x]", "a", "# --8<-- [end:x]", "b"]) == ["a"]
    assert plain.parse_snippet_target("a.py:x") == {"path": "a.py", "start": [], "end": [], "section": "x"}


def test_includes_called_by_pymdown_return_lines_with_their_places(tmp_path: Path) -> None:
    _file(tmp_path, "a\nb\n")
    page = PageInWork(tmp_path, Path("page.md"))
    includes = Includes(Markdown(), SnippetExtension().getConfigs(), lambda _: page)
    assert includes.run(["text", '  --8<-- "a.txt"']) == ["text", "  a", "  b", "  "]
    assert [line.origin for line in page.lines] == [
        Origin(Path("page.md"), 1),
        *(Origin(Path("a.txt"), number) for number in (1, 2, 3)),
    ]
    assert [line.page_line for line in page.lines] == [1, 2, 2, 2]


def _file(folder: Path, text: str) -> str:
    file = folder / "a.txt"
    file.write_text(text, encoding="utf-8")
    return str(file)
