"""The Markdown extension `melee_docs.markdown`: finds the blocks of a page and shows what proves each.

Options in `mkdocs.yml`, all of them with a default:

- `root`: the project's root, which includes and ledger are relative to. Default: the folder of `mkdocs.yml`.
- `strict`: fail on a page with a problem, instead of showing ✗. Default: whether MELEE_DOCS_STRICT is `1`.

`pymdownx.superfences` must be listed too; before or after makes no difference.
"""

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from markdown import Extension, Markdown
from markdown.postprocessors import Postprocessor
from markdown.treeprocessors import Treeprocessor
from msgspec import DecodeError
from pymdownx.snippets import SnippetExtension
from pymdownx.superfences import SuperFencesBlockPreprocessor

from melee_docs.blocks import GENERATED, Block, BlockError, Collected, Problem
from melee_docs.fences import MARK, Fences
from melee_docs.ledger import FOLDER, LEDGER, Ledger, Proof
from melee_docs.leftovers import IndentedCode
from melee_docs.place import place_of, registered
from melee_docs.proof_line import problem_line, proof_line
from melee_docs.report import page_name, short_name
from melee_docs.sources import Includes, PageInWork

HIDDEN_OR_MARK = re.compile(rf"<!--.*?-->|{MARK.pattern}", re.DOTALL)


class ProofExtension(Extension):
    """Replaces the preprocessors of snippets and superfences by ours, and puts proofs into the finished page."""

    def __init__(self, **options: Any) -> None:
        strict = os.environ.get("MELEE_DOCS_STRICT") == "1"
        self.config = {
            "root": ["", "The project's root. Default: the folder of mkdocs.yml"],
            "strict": [strict, "Fail on a page with problems. Default: whether MELEE_DOCS_STRICT is 1"],
            "collected": ["", "A melee_docs.blocks.Collected that takes the blocks; proofs are not shown then"],
        }
        super().__init__(**options)

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        self.md = md
        md.registerExtension(self)

    def reset(self) -> None:
        """Called when all extensions are loaded, in whatever order, and again after each conversion in a docstring."""
        if "melee_docs" in self.md.postprocessors:
            return
        includes = Includes(self.md, self._snippet_options(), self._open_page, self._made_later())
        fences = Fences(self.md, self._superfences(), includes, plain=bool(self.getConfig("collected")))
        self.md.preprocessors.register(includes, "snippet", 32)
        self.md.preprocessors.register(fences, "fenced_code_block", 25)
        self.md.treeprocessors.register(IndentedCode(self.md, includes), "melee_docs_indented_code", 31)
        self.md.treeprocessors.register(Parsed(self.md, includes), "melee_docs_parsed", -100)
        self.md.postprocessors.register(Proofs(self, fences), "melee_docs", 0)

    @property
    def root(self) -> Path:
        """The folder of mkdocs.yml is known only while a page is rendered."""
        if configured := self.getConfig("root"):
            return Path(configured).resolve()
        place = place_of(self.md)
        return Path.cwd() if place is None else place.root

    def _snippet_options(self) -> dict[str, Any]:
        listed = [extension for extension in self.md.registeredExtensions if isinstance(extension, SnippetExtension)]
        options: dict[str, Any] = (listed or [SnippetExtension()])[0].getConfigs()
        return options

    def _superfences(self) -> SuperFencesBlockPreprocessor:
        fences = registered(self.md.preprocessors, "fenced_code_block")
        if not isinstance(fences, SuperFencesBlockPreprocessor):
            raise BlockError(
                [_of_config("melee_docs.markdown needs pymdownx.superfences; list it in markdown_extensions")]
            )
        if fences.config["preserve_tabs"]:
            raise BlockError([_of_config("pymdownx.superfences' preserve_tabs loses the lines of blocks; take it out")])
        return fences

    def _made_later(self) -> Path | None:
        """The report of the proofs is a page's include, and cannot be there before the blocks are collected."""
        return self.root / FOLDER if self.getConfig("collected") else None

    def _open_page(self, lines: list[str]) -> PageInWork:
        root, place = self.root, place_of(self.md)
        if place is None:
            return PageInWork(root, Path("page.md"))
        path = place.docs.relative_to(root) / place.page
        page = PageInWork(root, path, watched=not place.page.startswith(GENERATED))
        if docstring := registered(self.md.treeprocessors, "mkdocstrings_ids"):
            page.lines_before = None
            page.docstring = docstring.id_prefix.removesuffix("--") or "an object"
        elif page.watched:
            page.lines_before = _lines_before(page, place.read(), "\n".join(lines))
        return page


class Parsed(Treeprocessor):
    """Comes last in the tree. Until then postprocessors are called for single headings, by the table of contents."""

    def __init__(self, md: Markdown, includes: Includes) -> None:
        super().__init__(md)
        self.includes = includes

    def run(self, root: Element) -> None:
        self.includes.page.parsed = True


class Proofs(Postprocessor):
    """Comes last: only what stands in the finished HTML, outside comments, is a block of the page."""

    def __init__(self, extension: ProofExtension, fences: Fences) -> None:
        super().__init__(extension.md)
        self.extension = extension
        self.fences = fences

    def run(self, text: str) -> str:
        page = self.fences.page
        if not page.parsed:
            return text
        visible = {int(mark[1]): self.fences.found[int(mark[1])] for mark in HIDDEN_OR_MARK.finditer(text) if mark[1]}
        problems = [*page.problems, *self._lost(text)]
        problems += [problem for found in visible.values() for problem in found.problems]
        collected: Collected | str = self.extension.getConfig("collected")
        if isinstance(collected, Collected):
            collected.blocks += [found.block for found in visible.values()]
            collected.problems += problems
            return MARK.sub("", text)
        ledger, unread = _read(self.extension.root)
        problems += unread
        proofs = {number: _proof(found.block, ledger) for number, found in visible.items()}
        unproven = [
            page.problem(_line_of(proof, visible[number].block), proof.problem)
            for number, proof in proofs.items()
            if not proof.holds
        ]
        if self.extension.getConfig("strict") and problems + unproven:
            raise BlockError(problems + unproven)
        shown = {number: proof_line(proof, visible[number].block, self._link) for number, proof in proofs.items()}
        text = MARK.sub(lambda mark: shown.get(int(mark[1]), ""), text)
        return "".join(problem_line(str(problem)) for problem in sorted(set(problems))) + text

    def _lost(self, text: str) -> list[Problem]:
        reached = {int(mark[1]) for mark in MARK.finditer(text)}
        return [
            self.fences.page.problem(found.block.page_line, "the block does not reach the finished page; move it out")
            for number, found in enumerate(self.fences.found)
            if number not in reached
        ]

    def _link(self, test: str) -> str:
        """`tests/examples/test_board.py::test_x` is shown on `about/tests/tests-examples-test_board/`, at `#test_x`."""
        page = GENERATED + page_name(test.partition("::")[0])
        place = place_of(self.md)
        return f"{page if place is None else place.link_to(page)}#{short_name(test)}"


def _proof(block: Block, ledger: dict[str, Proof]) -> Proof:
    missing = "no proof of this block as it stands; run `python -m melee_docs prove`"
    none = Proof(block.key, block.page.as_posix(), block.page_line, block.language, kind="", problem=missing)
    return ledger.get(block.key, none)


def _line_of(proof: Proof, block: Block) -> int:
    """The block may have moved on its page since it was proven; that changes neither its key nor its proof."""
    return block.page_line + (proof.problem_line - proof.page_line if proof.problem_line else 0)


def _lines_before(page: PageInWork, source: str, body: str) -> int:
    if not source.endswith(body):
        page.refuse(0, "a plugin changed the page before Markdown saw it, so lines are lost; do it in an extension")
        return 0
    return source.count("\n", 0, len(source) - len(body))


def _read(root: Path) -> tuple[dict[str, Proof], list[Problem]]:
    """The proofs by the keys of their blocks: none of them while there is no ledger, or one that cannot be read."""
    file = root / LEDGER
    if not file.exists():
        return {}, []
    stat = file.stat()
    try:
        return _decoded(file, stat.st_mtime_ns, stat.st_size), []
    except DecodeError as error:
        return {}, [Problem(LEDGER, 0, f"not a ledger of proofs ({error}); run `python -m melee_docs prove`")]


@lru_cache(maxsize=1)
def _decoded(file: Path, _changed_at: int, _size: int) -> dict[str, Proof]:
    """Every page reads the ledger; it is decoded once, and again when it was written anew."""
    return {proof.key: proof for proof in Ledger.read(file).proofs}


def _of_config(what: str) -> Problem:
    return Problem(Path("mkdocs.yml"), 0, what)


def makeExtension(**options: Any) -> ProofExtension:  # noqa: N802
    """The entry point of Python-Markdown."""
    return ProofExtension(**options)
