"""Includes: `--8<-- "melee_examples/board/lib/stats.py:timer"`, with lines that know which file they come from.

A section of a file stands between `# --8<-- [start:timer]` and `# --8<-- [end:timer]`, whatever the file's comment
marks are. Marker lines are never shown. Sections inside a shown one name its highlights.
"""

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markdown import Markdown
from pymdownx.snippets import SnippetPreprocessor

from melee_docs.blocks import Origin, Problem

COMMENT_MARKS = re.compile(r"""[^\w"'`]*""")
LOOKS_LIKE_A_MARKER = re.compile(r"""[^\w"'`;]*(?:\d+[.)]\s*)?-+8<-""")


class Line(str):
    """A line of a page that keeps its place while indentation is put before it.

    `origin` is the file and line it is written in, `page_line` the line of the page that shows it, `written` its text
    as the file has it, and `sections` the names of the sections it stands in.
    """

    __slots__ = ("origin", "page_line", "sections", "written")

    origin: Origin
    page_line: int
    sections: frozenset[str]
    written: str

    @classmethod
    def of(cls, text: str, origin: Origin, page_line: int, sections: frozenset[str]) -> "Line":
        line = cls(text)
        line.origin, line.page_line, line.sections, line.written = origin, page_line, sections, str(text)
        return line

    def shown_as(self, text: str) -> "Line":
        line = Line.of(text, self.origin, self.page_line, self.sections)
        line.written = self.written
        return line

    def __radd__(self, before: str) -> "Line":
        return self.shown_as(before + str(self))

    def replace(self, *args: Any, **kwargs: Any) -> "Line":
        """Pymdown takes the `;` off an escaped include this way: the line is then written as it is shown."""
        return Line.of(super().replace(*args, **kwargs), self.origin, self.page_line, self.sections)


@dataclass
class PageInWork:
    """A page, or a docstring that a page renders, while Markdown converts it.

    `lines_before` counts the lines of front matter, which Markdown never sees; None when the text is a docstring,
    whose lines are not the page's. `docstring` names the documented object where that is known. In a page that is not
    `watched`, nothing is looked for: it is shown as Markdown alone would. `parsed` is set when the tree is complete.
    """

    root: Path
    path: Path
    lines_before: int | None = 0
    docstring: str = ""
    watched: bool = True
    parsed: bool = False
    lines: list[Line] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def line_number(self, index: int) -> int:
        return 0 if self.lines_before is None else self.lines_before + index + 1

    def problem(self, line: int, what: str) -> Problem:
        return Problem(self.path, line, f"in the docstring of {self.docstring}: {what}" if self.docstring else what)

    def refuse(self, line: int, what: str) -> None:
        self.problems.append(self.problem(line, what))

    def line_of(self, text: str) -> int:
        """The page's line on which `text` begins, or 0: Markdown's tree has forgotten it."""
        first = text.strip().split("\n")[0].rstrip()
        return next((line.page_line for line in self.lines if line.rstrip().endswith(first)), 0)


def sections_of(lines: list[str], refuse: Callable[[int, str], None]) -> list[frozenset[str]]:
    """For each line of a file, the names of the sections that are open there; bad markers are refused by index."""
    started: dict[str, int] = {}
    opened: dict[str, int] = {}
    sections = []
    for index, line in enumerate(lines):
        marker = SnippetPreprocessor.RE_SNIPPET_SECTION.match(line) if "8<-" in line else None
        if marker is not None and not marker["escape"]:
            name = marker["name"]
            if not (COMMENT_MARKS.fullmatch(marker["pre"]) and COMMENT_MARKS.fullmatch(marker["post"])):
                refuse(index, f"the marker of section {name!r} shares its line with code; give it a line of its own")
            elif marker["type"].lower() == "end":
                if opened.pop(name, None) is None:
                    refuse(index, f"section {name!r} ends here and is not open; write its start above")
            elif name in started:
                first = "above" if name not in opened else "above and is still open"
                refuse(index, f"section {name!r} was started {first}; names are unique in a file")
            else:
                started[name] = opened[name] = index
        elif marker is None and LOOKS_LIKE_A_MARKER.match(line) and not SnippetPreprocessor.RE_ALL_SNIPPETS.match(line):
            refuse(index, f"{line.strip()!r} is not read as an include; put it alone on its line, behind spaces only")
        sections.append(frozenset(opened))
    for name, index in opened.items():
        refuse(index, f"section {name!r} has no end; write `--8<-- [end:{name}]` where it ends")
    return sections


class Includes(SnippetPreprocessor):
    """Expands includes, whose paths are relative to the project's root, and notes what every line is.

    `open_page` is asked for the page at the start of each conversion. `made_later` is a folder whose files need not
    exist yet: includes from it are left out.
    """

    def __init__(
        self,
        md: Markdown,
        config: dict[str, Any],
        open_page: Callable[[list[str]], PageInWork],
        made_later: Path | None = None,
    ) -> None:
        super().__init__({**config, "url_download": False, "check_paths": False, "dedent_subsections": True}, md)
        self.open_page = open_page
        self.made_later = made_later
        self.page: PageInWork

    def run(self, lines: list[str]) -> list[str]:
        self.page = self.open_page(lines)
        if not self.page.watched:
            return lines
        self.base_path = [str(self.page.root)]
        expanded: list[Line] = super().run(lines)
        self.page.lines = [_unescaped(line) for line in expanded]
        return [*self.page.lines]

    def parse_snippets(
        self, lines: list[str], file_name: str | None = None, is_url: bool = False, is_section: bool = False
    ) -> list[Line]:
        own = self._lines_of_the_page(lines) if file_name is None else lines
        expanded: list[Line] = super().parse_snippets(self._noting_the_current(own), file_name, is_url, is_section)
        return expanded

    def _lines_of_the_page(self, lines: list[str]) -> list[Line]:
        page = self.page
        sections = sections_of(lines, lambda index, what: page.refuse(page.line_number(index), what))
        numbers = [page.line_number(index) for index in range(len(lines))]
        return [
            Line.of(text, Origin(page.path, number), number, names)
            for text, number, names in zip(lines, numbers, sections, strict=True)
        ]

    def _noting_the_current(self, lines: list[Any]) -> Iterator[Line]:
        for line in lines:
            self.current: Line = line
            yield line

    def match_section(self, line: str) -> re.Match[str] | None:
        marker: re.Match[str] | None = super().match_section(line)
        return None if marker is None or marker["escape"] else marker

    def parse_snippet_target(self, path: str) -> dict[str, Any] | None:
        target: dict[str, Any] | None = super().parse_snippet_target(path)
        if target is not None and target["start"]:
            self._refuse(f"the include {path!r} names line numbers, which drift; name a section of the file")
        return target

    def get_snippet_path(self, path: str) -> str | None:
        if self.made_later is not None and (self.page.root / path).is_relative_to(self.made_later):
            return None
        found: str | None = super().get_snippet_path(path)
        if found is None:
            self._refuse(f"the include {path!r} is not a file; its path is relative to the project's root")
        elif found in self.seen:
            self._refuse(f"the include {path!r} is reached from itself; take one of the two includes out")
        return found

    def read_lines(self, path: str) -> list[Line]:
        file = Path(path).relative_to(self.page.root)
        try:
            lines: list[str] = super().read_lines(path)
        except (OSError, UnicodeDecodeError) as error:
            self._refuse(f"the include {file.as_posix()!r} cannot be read: {error}")
            return []
        problems = self.page.problems
        sections = sections_of(lines, lambda index, what: problems.append(Problem(file, index + 1, what)))
        shown_at = self.current.page_line
        return [
            Line.of(text, Origin(file, number), shown_at, names)
            for number, (text, names) in enumerate(zip(lines, sections, strict=True), start=1)
        ]

    def extract_section(self, section: str, lines: list[Line]) -> list[Line]:
        if not any(section in line.sections for line in lines):
            self._refuse(f"the included file has no section {section!r} with lines in it; name one that it has")
            return []
        extracted: list[Line] = super().extract_section(section, lines)
        return extracted

    def dedent(self, lines: list[Line]) -> list[Line]:
        texts = textwrap.dedent("\n".join(lines)).split("\n")
        return [line.shown_as(text) for line, text in zip(lines, texts, strict=False)]

    def _refuse(self, what: str) -> None:
        self.page.refuse(self.current.page_line, what)


def _unescaped(line: Line) -> Line:
    marker = SnippetPreprocessor.RE_SNIPPET_SECTION.match(line) if "8<-" in line else None
    return line.replace(";-", "-", 1) if marker is not None and marker["escape"] else line
