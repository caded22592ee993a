"""The ledger of proofs, `.proof/proof.json`: written by `prove`, only read by the site build."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

FOLDER = Path(".proof")
LEDGER = FOLDER / "proof.json"
# How the summary puts each kind of proof, in the order in which it names them.
KINDS = {
    "tests": "by tests",
    "rendered": "rendered by tests",
    "executed": "run in the page",
    "applied": "checked by a database",
    "transcript": "run in a console",
    "config": "read as settings",
    "drawn": "drawn",
    "skipped": "not run, with a reason",
}


@dataclass(frozen=True)
class Proof:
    """What shows a block to be true, or why nothing does.

    `kind` is `tests` (every shown line ran in these passing tests), `executed`, `applied`, `rendered`, `transcript`,
    `config`, `drawn` or `skipped`, and empty when there is no proof of its kind. `evidence` names tests as pytest does,
    or says in one phrase what was run. `problem` is empty when the block is proven; `problem_line` is the line of the
    page that it is about, or 0 for the whole block.
    """

    key: str
    page: str
    page_line: int
    language: str
    kind: str
    evidence: tuple[str, ...] = ()
    problem: str = ""
    problem_line: int = 0

    @property
    def holds(self) -> bool:
        return not self.problem

    def __str__(self) -> str:
        """`docs/x.md:41: reason; what to do` for one that does not hold."""
        return f"{self.page}:{self.problem_line or self.page_line}: {self.problem}"


@dataclass(frozen=True)
class Ledger:
    """The proofs of all blocks, in the order of pages and lines; `skips_at_most` is how many may be skipped."""

    proofs: tuple[Proof, ...]
    skips_at_most: int = 0

    @classmethod
    def of(cls, proofs: Iterable[Proof], skips_at_most: int) -> "Ledger":
        return cls(tuple(sorted(proofs, key=lambda proof: (proof.page, proof.page_line, proof.key))), skips_at_most)

    @classmethod
    def read(cls, file: Path) -> "Ledger":
        """The ledger that `write` wrote."""
        return cls(tuple(msgspec.json.decode(file.read_bytes(), type=list[Proof])))

    def write(self, file: Path) -> None:
        """Writes the same bytes for the same proofs."""
        content = msgspec.json.encode([asdict(proof) for proof in self.proofs])
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(msgspec.json.format(content, indent=1) + b"\n")

    @property
    def skips(self) -> int:
        return sum(proof.kind == "skipped" for proof in self.proofs)

    @property
    def problems(self) -> list[str]:
        """One `file:line: what; what to do` for each block without a proof, and one for too many skips."""
        problems = [str(proof) for proof in self.proofs if not proof.holds]
        if self.skips > self.skips_at_most:
            problems.append(
                f"pyproject.toml: {counted(self.skips, 'block')} not run, but [tool.melee_docs] skips_at_most allows "
                f"{self.skips_at_most}; prove one of them"
            )
        return problems

    @property
    def summary(self) -> str:
        """`41 blocks on 6 pages: 35 by tests, 6 drawn`."""
        pages = len({proof.page for proof in self.proofs})
        proven = Counter(proof.kind for proof in self.proofs if proof.holds)
        parts = [f"{proven[kind]} {words}" for kind, words in KINDS.items() if proven[kind]]
        unproven = sum(not proof.holds for proof in self.proofs)
        parts += [f"{unproven} without a proof"] if unproven else []
        blocks = f"{counted(len(self.proofs), 'block')} on {counted(pages, 'page')}"
        return f"{blocks}: {', '.join(parts) or 'nothing to prove'}"


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
