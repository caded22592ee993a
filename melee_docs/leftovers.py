"""Refuses code that is not in a fence, or in a fence that Markdown does not read as one: no proof could stand there."""

import html
import re
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.treeprocessors import Treeprocessor

from melee_docs.sources import Includes, PageInWork

FENCE = re.compile(r"(?P<behind>(?:[>\s]|[-*+:]\s|\d+[.)]\s|\[\^[^]]+\]:)*)(?:`{3,}|~{3,})")
RAW_PRE = re.compile(r"<pre[\s>]", re.IGNORECASE)
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)


def refuse_leftovers(page: PageInWork, lines: list[str], fenced: set[int]) -> None:
    """Looks at every line outside fences (`fenced` has the indices of theirs) and outside HTML comments.

    A `<!--` without an end hides nothing, and no fence ends it: Markdown reads fences first.
    """
    paragraph: list[tuple[str, int]] = []
    ends = [index for index, line in enumerate(lines) if index not in fenced and "-->" in line]
    hidden = False
    for index, (line, source) in enumerate(zip(lines, page.lines, strict=False)):
        begins = index not in fenced and line.lstrip().startswith("<!--")
        hidden = hidden or (begins and index <= max(ends, default=-1))
        if hidden or index in fenced or not line.strip():
            _refuse_spans(page, paragraph)
            paragraph = []
        else:
            _refuse_line(page, line, source.page_line)
            paragraph.append((line, source.page_line))
        hidden = hidden and index not in ends
    _refuse_spans(page, paragraph)


def _refuse_spans(page: PageInWork, paragraph: list[tuple[str, int]]) -> None:
    """Highlighted inline code loses the ends of its lines; and a broken fence often ends up as inline code."""
    text = "\n".join(line for line, _ in paragraph)
    for span in CODE_SPAN.finditer(text):
        if "\n" in span[0]:
            page_line = paragraph[text.count("\n", 0, span.start())][1]
            page.refuse(page_line, "inline code runs over the end of its line; keep it on one line")


def _refuse_line(page: PageInWork, line: str, page_line: int) -> None:
    if fence := FENCE.match(line):
        if fence["behind"].strip(" >\t"):
            page.refuse(page_line, "a fence behind a list mark is not read as one; put it on the next line, indented")
        else:
            how = 'close it, indent its lines alike, write options as name="value"'
            page.refuse(page_line, f"this fence is not read as one; {how}")
    elif RAW_PRE.search(CODE_SPAN.sub("", line)):
        page.refuse(page_line, "code in a raw `<pre>` cannot be proven; write a fence")


class IndentedCode(Treeprocessor):
    """Refuses indented code blocks: they have no language and no options. Runs before they are highlighted."""

    def __init__(self, md: Markdown, includes: Includes) -> None:
        super().__init__(md)
        self.includes = includes

    def run(self, root: Element) -> None:
        page = self.includes.page
        for block in root.iter("pre") if page.watched else ():
            line = page.line_of(html.unescape("".join(block.itertext())))
            page.refuse(line, "an indented code block has no language; write a fence, indented like the text around it")
