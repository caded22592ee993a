"""Finds every fenced block while Markdown converts a page, and refuses what would be shown otherwise than written.

A fence's own options: `highlight="name"` marks the lines of that section, `skip="reason"` says why the block is not
run, `app="folder"` names the app that a console transcript or a statement belongs to.
"""

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from markdown import Markdown
from pygments.lexers import find_lexer_class_by_name
from pygments.util import ClassNotFound
from pymdownx.superfences import SuperFencesBlockPreprocessor

from melee_docs.blocks import Block, Origin, Problem
from melee_docs.copying import PROMPTS, commands, problems_of_copying
from melee_docs.leftovers import refuse_leftovers
from melee_docs.sources import Includes, Line, PageInWork

OWN_OPTIONS = frozenset({"highlight", "skip", "app"})
NUMBERED_LINES = frozenset({"hl_lines", "linenums"})
MARK = re.compile(r'<div class="proof" data-block="(\d+)"></div>')

Validator = Callable[[str, dict[str, str], dict[str, str], dict[str, str], Markdown], bool]


@dataclass(frozen=True)
class Found:
    """A block, visible or not, and what is wrong with it."""

    block: Block
    problems: tuple[Problem, ...]


class Fences(SuperFencesBlockPreprocessor):
    """Takes the place of pymdownx.superfences' own preprocessor, with its configuration and its custom fences.

    `found` has the blocks of the conversion at hand; the HTML of number N holds `MARK` with N. With `plain`, blocks
    are found but not formatted.
    """

    def __init__(self, md: Markdown, replaced: SuperFencesBlockPreprocessor, includes: Includes, plain: bool) -> None:
        super().__init__(md)
        self.config = replaced.config
        self.extension = replaced.extension
        self.includes = includes
        self.plain = plain
        self.found: list[Found] = []
        self.own: dict[str, str] = {}
        self.code: list[str]
        self.extension.superfences[0]["formatter"] = self.highlight
        for entry in self.extension.superfences:
            entry["validator"] = partial(self._validate, entry["validator"])

    @property
    def page(self) -> PageInWork:
        return self.includes.page

    def _validate(
        self,
        validator: Validator,
        language: str,
        inputs: dict[str, str],
        options: dict[str, str],
        attrs: dict[str, str],
        md: Markdown,
    ) -> bool:
        self.own = {name: inputs[name] for name in inputs if name in OWN_OPTIONS | NUMBERED_LINES}
        others = {name: value for name, value in inputs.items() if name not in self.own}
        return validator(language, others, options, attrs, md)

    def run(self, lines: list[str]) -> list[str]:
        self.found = []
        self.fenced: set[int] = set()
        if self.page.watched and not self._lines_are_mapped(lines):
            self.page.refuse(0, "another extension moved lines before fences were read; take it out")
            self.page.watched = False
        converted: list[str] = super().run(lines)
        if self.page.watched:
            refuse_leftovers(self.page, lines, self.fenced)
        return converted

    def _lines_are_mapped(self, lines: list[str]) -> bool:
        known = self.page.lines
        return len(known) <= len(lines) and all(
            source == line or self.normalize_ws(source).strip() == line.strip()
            for source, line in zip(known, lines, strict=False)
        )

    def process_nested_block(self, ws: str, content: str, start: int, end: int) -> None:
        if self.page.watched:
            self._find(self.page.lines[start], self.page.lines[start + 1 : end - 1], self.page.lines[end - 1])
            self.fenced.update(range(start, end))
        super().process_nested_block(ws, content, start, end)

    def _find(self, opening: Line, sources: list[Line], closing: Line) -> None:
        self.code, shown = _without_blank_ends(self.code, sources)
        block = Block(
            page=self.page.path,
            page_line=opening.page_line,
            language=self.lang or "",
            text=self.rebuild_block(self.code),
            origins=_origins(shown),
            title=self.options.get("title", ""),
            skip=self.own.get("skip", ""),
            app=self.own.get("app", ""),
        )
        if shown:
            problems = self._problems_of_the_header() + self._problems_of_the_lines(shown) + problems_of_copying(block)
            problems += self._problems_of_the_highlight(shown)
        elif any(opening.page_line < problem.line < closing.page_line for problem in self.page.problems):
            problems = []  # its include is refused already
        else:
            problems = ["the block shows nothing; fill it or take it out"]
        self.found.append(Found(block, tuple(self.page.problem(block.page_line, what) for what in problems)))

    def _problems_of_the_highlight(self, shown: list[Line]) -> list[str]:
        """Turns the named highlight into the line numbers that Pygments wants."""
        if "highlight" not in self.own:
            return []
        name = self.own["highlight"]
        numbers = [str(number) for number, line in enumerate(shown, start=1) if name in line.sections]
        if not numbers:
            return [f"no shown line is in a section {name!r}; highlight one that is inside the block"]
        self.options["hl_lines"] = " ".join(numbers)
        return []

    def _problems_of_the_header(self) -> list[str]:
        problems = []
        if not self.lang:
            problems.append('the fence names no language; name one, or `text` with skip="reason"')
        elif self.formatter == self.highlight and not (
            _pygments_knows(self.lang) or any(self.lang == known["name"] for known in self.extend_pygments_lang or [])
        ):
            problems.append(f"the language {self.lang!r} is unknown to Pygments; name one that it knows")
        if self.own.get("skip", "") == "skip" or not self.own.get("skip", "-").strip():
            problems.append('the block is skipped without a reason; write skip="reason"')
        elif self.lang == "text" and "skip" not in self.own:
            problems.append('nothing can prove `text`; write skip="reason"')
        numbered = sorted(NUMBERED_LINES & self.own.keys())
        return problems + [f'{name} counts lines, which drift; use highlight="section"' for name in numbered]

    def _problems_of_the_lines(self, shown: list[Line]) -> list[str]:
        problems = []
        if len({origin.file for origin in _origins(shown)}) > 1:
            problems.append("the block mixes lines of several files; show one file in one block")
        for text, source in zip(self.code, shown, strict=True):
            if source.origin.file != self.page.path and ("\t" in source.written or source.written.strip() not in text):
                place = f"{source.origin.file.as_posix()}:{source.origin.line}"
                problems.append(f"{place} would be shown otherwise than it is written; use no tabs and controls")
        return problems

    def _store(self, source: str, code: str, start: int, end: int) -> None:
        if self.page.watched:
            code = self._with_mark(code)
        super()._store(source, code, start, end)

    def _with_mark(self, code: str) -> str:
        """A proof stands inside `.highlight`: behind it, it would part Material's annotations from their list."""
        mark = f'<div class="proof" data-block="{len(self.found) - 1}"></div>'
        if self.plain:
            return f"<pre></pre>{mark}"
        block = self.found[-1].block
        if block.language in PROMPTS:
            copied = html.escape(commands(block.text, block.language)).replace("\n", "&#10;")
            code = re.sub(r"^<\w+", lambda tag: f'{tag[0]} data-copy="{copied}"', code, count=1)
        if self.formatter == self.highlight and code.endswith("</div>"):
            return f"{code.removesuffix('</div>')}{mark}</div>"
        return code + mark

    def highlight(self, src: str = "", language: str = "", options: Any = None, md: Any = None, **kwargs: Any) -> str:
        if self.plain:
            return "<pre></pre>"
        code: str = super().highlight(src, language, options, md, **kwargs)
        return code


def _without_blank_ends(code: list[str], sources: list[Line]) -> tuple[list[str], list[Line]]:
    """Pygments does not show blank lines at the ends, and would count highlights without them."""
    filled = [index for index, line in enumerate(code) if line.strip(" >")]
    if not filled:
        return [], []
    shown = slice(filled[0], filled[-1] + 1)
    return code[shown], sources[shown]


def _origins(shown: list[Line]) -> tuple[Origin, ...]:
    """A blank line between two includes has nothing to prove: it belongs to the file above it."""
    origins: list[Origin] = []
    for line in shown:
        between = bool(origins) and not line.strip() and line.origin.file != origins[-1].file
        origins.append(origins[-1] if between else line.origin)
    return tuple(origins)


@cache
def _pygments_knows(language: str) -> bool:
    try:
        find_lexer_class_by_name(language)
    except ClassNotFound:
        return False
    return True
