"""Every way in which a block would be shown otherwise than it is proven is refused, on its line."""

from pathlib import Path

import pytest
from markdown import Markdown
from pymdownx.superfences import SuperFencesBlockPreprocessor

from melee_docs.copying import commands
from tests.melee_docs.conftest import ORDERS, Guide

NOT_READ = 'this fence is not read as one; close it, indent its lines alike, write options as name="value"'


def told(guide: Guide, page: str, problem: str) -> bool:
    return any(line.startswith(problem) for line in guide.problems(page))


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ("Text.\n\n```\nplain\n```\n", "3: the fence names no language; "),
        ("```pyton\na = 1\n```\n", "1: the language 'pyton' is unknown to Pygments; "),
        ("```text\nplain\n```\n", "1: nothing can prove `text`; "),
        ("```py skip\na = 1\n```\n", "1: the block is skipped without a reason; "),
        ('```py skip=" "\na = 1\n```\n', "1: the block is skipped without a reason; "),
        ('```py hl_lines="1"\na = 1\n```\n', "1: hl_lines counts lines, which drift; "),
        ('```py linenums="1"\na = 1\n```\n', "1: linenums counts lines, which drift; "),
        ('```py highlight="x"\na = 1\n```\n', "1: no shown line is in a section 'x'; "),
        ("```py\n\n```\n", "1: the block shows nothing; "),
        ('```py\na = 1\n--8<-- "code.py"\n```\n', "1: the block mixes lines of several files; "),
        ("Text.\n\n```py title=unquoted\na = 1\n```\n", f"3: {NOT_READ}"),
        ('Text.\n\n```py colour="red"\na = 1\n```\n', f"3: {NOT_READ}"),
        ("Text.\n\n```py\na = 1\n", f"3: {NOT_READ}"),
        ("- a\n\n    ```py\n  a = 1\n    ```\n", f"3: {NOT_READ}"),
        ("Text.\n\n- ```py\n  a = 1\n  ```\n", "3: a fence behind a list mark is not read as one; "),
        ("Text.\n\n1. ```py\n   a = 1\n   ```\n", "3: a fence behind a list mark is not read as one; "),
        ("Text.\n\n    a = 1\n", "3: an indented code block has no language; "),
        ("Text.\n\n    ```py\n    a = 1\n    ```\n", "3: an indented code block has no language; "),
        ("Text.\n\n    ```py\n    a = 1\n    ```\n", "3: the block does not reach the finished page; "),
        ("<!-- no end\n\n- ```py\n", "3: a fence behind a list mark is not read as one; "),
        ("<!-- no end\n\n- ```py\n\n```mermaid\na --> b\n```\n", "3: a fence behind a list mark is not read as one; "),
        ("Text.\n\n<pre>a = 1</pre>\n", "3: code in a raw `<pre>` cannot be proven; "),
        ("Text.\n\nHere is `inline\ncode` over two lines.\n", "3: inline code runs over the end of its line; "),
        ("Text.\n\nHere is `#!py inline\ncode` over two lines.\n", "3: inline code runs over the end of its line; "),
        ("```sh\n$ ls\n```\n", "1: the copy button would copy the prompt `$ `; name the language `console`"),
        ("```py\n>>> 1\n1\n```\n", "1: the copy button would copy the prompt `>>> `; name the language `pycon`"),
        ("```console\nls\n```\n", "1: no line begins with `$ `; "),
    ],
)
def test_what_cannot_be_proven_is_refused_at_its_line(guide: Guide, page: str, problem: str) -> None:
    guide.write("code.py", "b = 1\n")
    assert told(guide, page, problem), guide.problems(page)


def test_preserved_tabs_are_refused_as_they_lose_lines(guide: Guide) -> None:
    guide.configure("  - pymdownx.superfences:\n      preserve_tabs: true\n  - melee_docs.markdown\n")
    assert "preserve_tabs loses the lines of blocks; take it out" in guide.problems("# Start\n")[0]


def test_a_guide_without_superfences_is_refused(guide: Guide) -> None:
    guide.configure("  - melee_docs.markdown\n")
    assert "needs pymdownx.superfences; list it in markdown_extensions" in guide.problems("# Start\n")[0]


def test_an_extension_that_moves_lines_before_fences_are_read_is_refused(
    guide: Guide, monkeypatch: pytest.MonkeyPatch
) -> None:
    guide.write("moving_lines.py", MOVING)
    monkeypatch.syspath_prepend(guide.root)
    guide.configure(f"{ORDERS['ours last']}  - moving_lines\n")
    assert told(guide, "Text.\n\n```py\na = 1\n```\n", "0: another extension moved lines before fences were read; ")


MOVING = """
from markdown import Extension
from markdown.preprocessors import Preprocessor


class Moving(Preprocessor):
    def run(self, lines):
        return ["added", *lines]


class MovingExtension(Extension):
    def extendMarkdown(self, md):
        md.preprocessors.register(Moving(md), "moving", 28)


def makeExtension(**options):
    return MovingExtension(**options)
"""


@pytest.mark.parametrize(
    "page",
    [
        "<!--\n```\nno language\n```\n-->\n",
        "<!--\n- ```py\n-->\n",
        "<!--\n```mermaid\na --> b\n```\n- ```py\n-->\n",
        "<!-- <pre>a</pre> -->\n",
        "Say `<pre>` or ``a `fence` `` inline.\n",
        "Inline `code`, `#!py code` and\n`more` of it.\n",
    ],
)
def test_what_a_reader_does_not_see_as_a_block_is_not_refused(guide: Guide, page: str) -> None:
    assert guide.blocks(page) == []


def test_a_comment_hides_no_more_than_itself(guide: Guide) -> None:
    assert told(guide, "<!-- hidden -->\n\n- ```py\n", "3: a fence behind a list mark")


def test_two_sections_of_one_file_may_stand_in_one_block_with_a_blank_line_between(guide: Guide) -> None:
    guide.write("c.py", "# --8<-- [start:a]\na = 1\n# --8<-- [end:a]\n\n# --8<-- [start:b]\nb = 1\n# --8<-- [end:b]\n")
    (block,) = guide.blocks('```py\n--8<-- "c.py:a"\n\n--8<-- "c.py:b"\n```\n')
    assert block.text == "a = 1\n\nb = 1"
    assert {origin.file for origin in block.origins} == {Path("c.py")}


def test_a_fence_of_four_marks_may_hold_one_of_three(guide: Guide) -> None:
    (block,) = guide.blocks('````markdown skip="shown only"\n```\nno language\n```\n````\n')
    assert block.text == "```\nno language\n```"


@pytest.mark.parametrize(
    ("transcript", "language", "typed"),
    [
        ("$ ls -l\ntotal 0\n$ echo hi\nhi", "console", "ls -l\necho hi"),
        ("$ echo a \\\n>   b\na b\n> not typed", "console", "echo a \\\n  b"),
        ("$ cat\n> output of the program", "console", "cat"),
        (">>> for x in [1]:\n...     print(x)\n...\n1", "pycon", "for x in [1]:\n    print(x)\n"),
        ("total 0\n$5 is no prompt", "console", ""),
    ],
)
def test_what_is_copied_from_a_transcript_is_what_was_typed(transcript: str, language: str, typed: str) -> None:
    assert commands(transcript, language) == typed


def test_pymdown_still_has_the_inner_steps_that_fences_build_on() -> None:
    """Fences override these; a release that renames one must fail here first."""
    md = Markdown(extensions=["pymdownx.superfences"])
    fences = md.preprocessors["fenced_code_block"]
    assert isinstance(fences, SuperFencesBlockPreprocessor)
    seen: list[tuple[str, list[str], int, int]] = []

    original = fences.process_nested_block

    def watching(ws: str, content: str, start: int, end: int) -> None:
        seen.append((fences.lang, list(fences.code), start, end))
        original(ws, content, start, end)

    fences.process_nested_block = watching
    entry = fences.extension.superfences[0]
    assert {"validator", "formatter", "test"} <= entry.keys()
    assert entry["formatter"] == fences.highlight
    fences.run(["text", "```py", "a = 1", "```"])
    assert seen == [("py", ["a = 1"], 1, 4)]
    assert callable(fences._store)
