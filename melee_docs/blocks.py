"""One fenced block of a page, as a reader sees it, with the place every line comes from."""

import hashlib
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import BuildError, MkDocsException
from mkdocs.structure.files import File, Files, get_files, set_exclusions
from mkdocs.structure.pages import Page

EXTENSION = "melee_docs.markdown"
CONFIG = Path("mkdocs.yml")
DOCS = Path("docs")
# Pages made from the proofs themselves: they show the sources of tests, which no other test could prove.
GENERATED = "about/tests/"


@dataclass(frozen=True, order=True)
class Origin:
    """Where a shown line stands: a file relative to the project's root, and its line, counted from 1.

    A line of a docstring that a page renders has the page as its file and 0 as its line.
    """

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
        """Names the block in the ledger: any change to what is shown, or to where it comes from, is another block.

        The page's own line numbers are no part of it: a paragraph above a block changes nothing that was proven.
        """
        parts = [self.page.as_posix(), self.language, self.title, self.skip, self.app, self.text]
        parts += [f"{origin.file.as_posix()}:{origin.line}" for origin in self.origins if origin.file != self.page]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    @property
    def where(self) -> str:
        """`docs/tutorial/5-x.md:41`, for messages."""
        return f"{self.page.as_posix()}:{self.page_line}"


@dataclass(frozen=True, order=True)
class Problem:
    """One thing to put right, in a file relative to the root, at a line from 1 (0: the whole file, or a docstring)."""

    file: Path
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file.as_posix()}:{self.line}: {self.what}"


class BlockError(BuildError):
    """Pages that cannot be built as they are, with every problem, one `file:line: what; what to do` a line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted(set(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


@dataclass
class Collected:
    """What the Markdown extension hands over instead of showing proofs, when it is given one of these."""

    blocks: list[Block] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def collect(root: Path) -> list[Block]:
    """Every visible block of every page, as the reader meets them; those of a page's docstrings come before its own.

    Pages are rendered by MkDocs with the site's own configuration, docstrings of the reference included, but nothing
    is highlighted and nothing written.

    Raises:
        BlockError: with the problems of all pages at once.
    """
    root = root.resolve()
    collected = Collected()
    site = _site(root)
    site.mdx_configs.setdefault(EXTENSION, {}).update(root=str(root), collected=collected)
    with _quiet("mkdocs"):
        # mkdocstrings adds its Markdown extension when it is configured; no other plugin is needed to find blocks.
        if "mkdocstrings" in site.plugins:
            site.plugins["mkdocstrings"].on_config(site)
        files = get_files(site)
        set_exclusions(files, site)
        for file in files.documentation_pages():
            if not file.src_uri.startswith(GENERATED):
                _render(file, files, site, collected)
    if collected.problems:
        raise BlockError(collected.problems)
    return collected.blocks


def _site(root: Path) -> MkDocsConfig:
    try:
        site = load_config(str(root / CONFIG), docs_dir=str(root / DOCS))
    except MkDocsException as error:
        raise BlockError([Problem(CONFIG, 0, _one_line(error))]) from error
    if EXTENSION not in site.markdown_extensions:
        raise BlockError([Problem(CONFIG, 0, f"markdown_extensions lacks {EXTENSION}; add it")])
    return site


def _render(file: File, files: Files, site: MkDocsConfig, collected: Collected) -> None:
    page = Page(None, file, site)
    try:
        page.read_source(site)
        page.render(site, files)
    except BlockError as error:
        collected.problems += error.problems
    except MkDocsException as error:
        collected.problems.append(Problem(DOCS / file.src_uri, 0, _one_line(error)))


def _one_line(error: MkDocsException) -> str:
    return " ".join(error.format_message().split())


@contextmanager
def _quiet(logger: str) -> Iterator[None]:
    """The site build says these things again; said twice they would drown the problems."""
    log = logging.getLogger(logger)
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)
