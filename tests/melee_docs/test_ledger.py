"""What is written about the proofs, and what counts as a problem."""

from pathlib import Path

import msgspec

from melee_docs.ledger import Ledger, Proof


def a_proof(line: int, kind: str = "tests", problem: str = "", problem_line: int = 0, page: str = "docs/x.md") -> Proof:
    return Proof(f"key{line}", page, line, "python", kind, ("tests/test_x.py::test_x",), problem, problem_line)


def test_a_ledger_is_read_as_it_was_written(tmp_path: Path) -> None:
    ledger = Ledger.of([a_proof(3), a_proof(1, problem="broken; mend it", problem_line=2)], skips_at_most=0)
    ledger.write(tmp_path / ".proof" / "proof.json")
    assert Ledger.read(tmp_path / ".proof" / "proof.json") == ledger


def test_the_same_proofs_give_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    proofs = [a_proof(3), a_proof(1), a_proof(2, page="docs/a.md")]
    Ledger.of(proofs, 0).write(tmp_path / "one.json")
    Ledger.of(reversed(proofs), 0).write(tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    written = msgspec.json.decode((tmp_path / "one.json").read_bytes())
    assert [(proof["page"], proof["page_line"]) for proof in written] == [
        ("docs/a.md", 2),
        ("docs/x.md", 1),
        ("docs/x.md", 3),
    ]


def test_a_problem_names_its_own_line_or_else_the_line_of_its_block() -> None:
    ledger = Ledger.of([a_proof(1, problem="broken; mend it"), a_proof(5, problem="wrong; mend it", problem_line=7)], 0)
    assert ledger.problems == ["docs/x.md:1: broken; mend it", "docs/x.md:7: wrong; mend it"]


def test_more_skips_than_allowed_are_a_problem_and_as_many_are_not() -> None:
    skips = [a_proof(1, "skipped"), a_proof(2, "skipped")]
    assert Ledger.of(skips, skips_at_most=2).problems == []
    assert Ledger.of(skips, skips_at_most=1).problems == [
        "pyproject.toml: 2 blocks not run, but [tool.melee_docs] skips_at_most allows 1; prove one of them"
    ]


def test_the_summary_counts_blocks_pages_and_kinds() -> None:
    proofs = [a_proof(1), a_proof(2), a_proof(3, "drawn", page="docs/a.md"), a_proof(4, problem="broken; mend it")]
    assert Ledger.of(proofs, 0).summary == "4 blocks on 2 pages: 2 by tests, 1 drawn, 1 without a proof"
    settings = [a_proof(1, "applied"), a_proof(2, "config")]
    assert Ledger.of(settings, 0).summary == "2 blocks on 1 page: 1 checked by a database, 1 read as settings"
    assert Ledger.of([], 0).summary == "0 blocks on 0 pages: nothing to prove"
