"""Decides which proof a block needs, by its language and by where it comes from, and carries it out."""

import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from melee_docs.blocks import Block
from melee_docs.coverage import RecordedRun
from melee_docs.ledger import FOLDER, Proof
from melee_docs.proofs import config, console, diagram, page, python, sql, template
from melee_docs.proofs.verdict import NotProvenError


@dataclass(frozen=True)
class Project:
    """The project at `root`, an absolute path, with the run of its tests."""

    root: Path

    @cached_property
    def run(self) -> RecordedRun:
        """Raises `NotProvenError` when no run is recorded."""
        return RecordedRun.read(self.root, self.root / FOLDER)


@dataclass(frozen=True)
class Method:
    """A kind of proof and how it is carried out: answers with the evidence or raises `NotProvenError`."""

    kind: str
    prove: Callable[[Block, Project], tuple[str, ...]]


PYTHON_FILE = Method("tests", lambda block, project: python.prove(block, project.run))
PYTHON_PAGE = Method("executed", lambda block, project: page.prove(block, project.root))
SQL_FILE = Method("applied", lambda block, project: sql.prove_file(block, project.root))
SQL_PAGE = Method("applied", lambda block, project: sql.prove_page(block, project.root))
TEMPLATE = Method("rendered", lambda block, project: template.prove(block, project.run))
CONSOLE = Method("transcript", lambda block, project: console.prove(block, project.root))
DIAGRAM = Method("drawn", lambda block, _: diagram.prove(block))
CONFIG = Method("config", lambda block, _: config.prove(block))

# By language: the method for a block that comes from a file, and for one that is written in the page.
METHODS: dict[str, tuple[Method, Method]] = {
    **dict.fromkeys(("python", "py"), (PYTHON_FILE, PYTHON_PAGE)),
    "pycon": (PYTHON_PAGE, PYTHON_PAGE),
    "sql": (SQL_FILE, SQL_PAGE),
    **dict.fromkeys(("jinja", "html+jinja", "html"), (TEMPLATE, TEMPLATE)),
    "console": (CONSOLE, CONSOLE),
    "mermaid": (DIAGRAM, DIAGRAM),
    **dict.fromkeys(config.READERS, (CONFIG, CONFIG)),
}


def prove(blocks: Iterable[Block], root: Path) -> Iterator[Proof]:
    """A proof of each block, as soon as it is decided; a block that is not proven has its problem there."""
    project = Project(root.resolve())
    for block in blocks:
        yield prove_block(block, project)


def prove_block(block: Block, project: Project) -> Proof:
    method = method_for(block)
    proof = Proof(block.key, block.page.as_posix(), block.page_line, block.language, method.kind if method else "")
    if method is None:
        known = ", ".join(METHODS)
        problem = (
            f'no proof is known for {block.language or "a block without a language"!r}; use {known}, or skip="reason"'
        )
        return replace(proof, problem=problem)
    try:
        return replace(proof, evidence=method.prove(block, project))
    except NotProvenError as error:
        return replace(proof, **placed(error, block))


def placed(error: NotProvenError, block: Block) -> dict[str, Any]:
    """The problem of a proof, and its line in the page; a line of another file is named in the problem itself."""
    if error.index is None:
        return {"problem": error.reason}
    origin = block.origins[error.index]
    if origin.file == block.page:
        return {"problem": error.reason, "problem_line": origin.line}
    return {"problem": f"{origin.file.as_posix()}:{origin.line}: {error.reason}"}


def method_for(block: Block) -> Method | None:
    if block.skip:
        return Method("skipped", lambda block, _: (block.skip,))
    from_file, in_page = METHODS.get(block.language, (None, None))
    return in_page if all(origin.file == block.page for origin in block.origins) else from_file


def skips_at_most(root: Path) -> int:
    """`[tool.melee_docs] skips_at_most` of `pyproject.toml`: how many blocks may go unproven. Default: none."""
    file = root / "pyproject.toml"
    settings = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return int(settings.get("tool", {}).get("melee_docs", {}).get("skips_at_most", 0))
