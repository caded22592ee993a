"""A small project in a temporary folder, whose tests are really run and whose blocks are really proven."""

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from melee_docs.blocks import Block, Origin
from melee_docs.ledger import Proof
from melee_docs.proofs.running import unmeasured
from melee_docs.prover import Project, prove_block

PAGE = Path("docs/tutorial/x.md")
FENCE_LINE = 10
MELEE = Path(__file__).parents[2]


@dataclass
class AProject:
    root: Path

    def write(self, file: str, text: str) -> None:
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")

    def record(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs the project's tests as `nox -s proof` does."""
        (self.root / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n", encoding="utf-8")
        return self.run("-m", "pytest", "-q", "-p", "melee_docs.pytest_plugin", "--proof=.proof", *arguments)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        # Importing every installed plugin of pytest would take longer than the tests do.
        quick = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "NO_MKDOCS_2_WARNING": "1"}
        variables = unmeasured(os.environ) | quick | {"PYTHONPATH": str(MELEE)}
        return subprocess.run(
            [sys.executable, *arguments], cwd=self.root, env=variables, capture_output=True, text=True, timeout=120
        )

    def block_of(self, file: str, first: int = 1, last: int = 10_000, language: str = "python") -> Block:
        """A block that shows lines `first` to `last` of a file."""
        lines = (self.root / file).read_text(encoding="utf-8").splitlines()
        shown = list(enumerate(lines, start=1))[first - 1 : last]
        origins = tuple(Origin(Path(file), number) for number, _ in shown)
        return Block(PAGE, FENCE_LINE, language, "\n".join(text for _, text in shown) + "\n", origins)

    def block_at(self, file: str, begins: str, ends: str, language: str = "python") -> Block:
        """A block that shows a file from the line that holds one text to the line that holds the other."""
        lines = (self.root / file).read_text(encoding="utf-8").splitlines()
        first = next(index for index, line in enumerate(lines) if begins in line)
        last = next(index for index, line in enumerate(lines) if index >= first and ends in line)
        return self.block_of(file, first + 1, last + 1, language)

    def prove(self, block: Block) -> Proof:
        return prove_block(block, Project(self.root.resolve()))


def in_page(language: str, text: str, *, skip: str = "", app: str = "", title: str = "") -> Block:
    """A block written in the page: its fence stands on line 10, its first line on line 11."""
    text = textwrap.dedent(text).lstrip("\n")
    origins = tuple(Origin(PAGE, FENCE_LINE + 1 + index) for index in range(len(text.splitlines())))
    return Block(PAGE, FENCE_LINE, language, text, origins, skip=skip, app=app, title=title)
