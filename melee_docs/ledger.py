"""The ledger of proofs, `.proof/proof.json`: written by `prove`, only read by the site build."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Proof:
    """What shows a block to be true, or why nothing does.

    `kind` is `tests` (every shown line ran in these passing tests), `executed`, `applied`, `rendered`, `transcript`,
    `config`, `drawn` or `skipped`. `evidence` names tests as pytest does, or says in one phrase what was run.
    `problem` is empty when the block is proven.
    """

    key: str
    page: str
    page_line: int
    language: str
    kind: str
    evidence: tuple[str, ...] = ()
    problem: str = ""

    @property
    def holds(self) -> bool:
        return not self.problem
