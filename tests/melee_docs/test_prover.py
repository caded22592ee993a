"""Which proof a block needs."""

from dataclasses import replace
from pathlib import Path

import pytest

from melee_docs.prover import prove, skips_at_most
from tests.melee_docs.a_project import AProject, in_page


@pytest.mark.parametrize("language", ["rust", "bash", "text", ""])
def test_a_language_without_a_kind_of_proof_is_a_problem(tmp_path: Path, language: str) -> None:
    proof = AProject(tmp_path).prove(in_page(language, "ls\n"))
    assert (proof.kind, proof.holds) == ("", False)
    assert proof.problem.startswith("no proof is known for ")
    assert "use python, py, pycon, sql, " in proof.problem


def test_a_skipped_block_is_not_run_and_keeps_its_reason(tmp_path: Path) -> None:
    proof = AProject(tmp_path).prove(in_page("console", "$ touch made\n", skip="asks for a password"))
    assert (proof.kind, proof.evidence, proof.holds) == ("skipped", ("asks for a password",), True)
    assert not (tmp_path / "made").exists()


def test_a_change_of_the_block_is_another_key(tmp_path: Path) -> None:
    block = in_page("text", "a\n")
    one, other = prove([block, replace(block, text="b\n")], tmp_path)
    assert one.key == block.key != other.key


def test_a_problem_in_a_docstring_names_no_line_of_the_page(tmp_path: Path) -> None:
    block = in_page("python", "print(1)\n#> 2\n")
    origins = tuple(replace(origin, line=0) for origin in block.origins)
    proof = AProject(tmp_path).prove(replace(block, origins=origins, page_line=0))
    assert (proof.problem_line, proof.problem.startswith("the page shows `#> 2`")) == (0, True)


def test_a_problem_in_an_included_file_names_that_file_and_its_line(tmp_path: Path) -> None:
    project = AProject(tmp_path)
    project.write("snippets/board/look.txt", "# shown below\n$ echo one\ntwo\n")
    proof = project.prove(project.block_of("snippets/board/look.txt", first=2, language="console"))
    assert proof.problem.startswith("snippets/board/look.txt:3: `echo one` printed `one` where the page shows `two`")
    assert str(proof).startswith("docs/tutorial/x.md:10: snippets/board/look.txt:3: ")


@pytest.mark.parametrize(("settings", "allowed"), [("[tool.melee_docs]\nskips_at_most = 4\n", 4), ("[tool]\n", 0)])
def test_how_many_skips_are_allowed_is_read_from_pyproject(tmp_path: Path, settings: str, allowed: int) -> None:
    AProject(tmp_path).write("pyproject.toml", settings)
    assert skips_at_most(tmp_path) == allowed


def test_without_a_pyproject_no_skip_is_allowed(tmp_path: Path) -> None:
    assert skips_at_most(tmp_path) == 0
