"""One fenced block of a page, as a reader sees it, with the place every line comes from."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True)
class Origin:
    """Where a shown line stands: a file relative to the project's root, and its line, counted from 1."""

    file: Path
    line: int


@dataclass(frozen=True)
class Block:
    """A block after includes are expanded and section markers are gone.

    `origins` has one entry per line of `text`. A line written in the page itself has the page as its origin, so a
    block is *in the page* when all its origins are the page, and *from a file* when all are one other file.
    """

    page: Path
    page_line: int
    language: str
    text: str
    origins: tuple[Origin, ...]
    title: str = ""
    skip: str = ""
    app: str = ""

    @cached_property
    def key(self) -> str:
        """Names the block in the ledger: any change to what is shown, or to where it comes from, is another block."""
        parts = [self.page.as_posix(), self.language, self.skip, self.app, self.text]
        parts += [f"{origin.file.as_posix()}:{origin.line}" for origin in self.origins]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    @property
    def where(self) -> str:
        """`docs/tutorial/5-x.md:41`, for messages."""
        return f"{self.page.as_posix()}:{self.page_line}"
