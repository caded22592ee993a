"""Text that others wrote, as the page shows it: harmless, its beginning at once, and not without end."""

from dataclasses import dataclass
from typing import Any

from melee.words import visible

LETTERS_AT_MOST = 10_000
"""Of one text. A payload of a megabyte would be most of the page, and nobody reads it there."""
_BEGINNING = 120


@dataclass(frozen=True)
class Text:
    """A text in two parts.

    Attributes:
        beginning: its first line, cut.
        whole: all its lines, up to `LETTERS_AT_MOST`; empty when `beginning` says it all.
    """

    beginning: str
    whole: str


def text(value: Any) -> Text:
    """The text of a value, where what a browser would act on (marks that turn the reading direction, say) and what
    nobody sees is an escape such as `\\u202e`. It may be any value, since SQLite keeps any in a column of text."""
    given = str(value)
    cut = given[:LETTERS_AT_MOST]
    lines = [visible(line) for line in cut.splitlines()] or [""]
    beginning = lines[0][:_BEGINNING]
    if len(given) == len(cut) and lines == [beginning]:
        return Text(beginning, "")
    if len(given) > len(cut):
        lines.append(f"… ({len(given):,} characters; the first {LETTERS_AT_MOST:,} are shown)")
    return Text(f"{beginning} …", "\n".join(lines))
