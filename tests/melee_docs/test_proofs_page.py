"""Python written in the page, run where it stands."""

from pathlib import Path

import pytest

from melee_docs.blocks import Block
from melee_docs.ledger import Proof
from tests.melee_docs.a_project import AProject, in_page


def prove(block: Block, tmp_path: Path) -> Proof:
    return AProject(tmp_path).prove(block)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "print('a')\n#> a\nprint()\n#>\nfor n in range(2):\n    print(n)\n    #> 0\n    #> 1\n"),
        ("python", "import sys\nsys.stdout.write('a\\n')\n#> a\n"),
        ("python", "text = '''\n#> not output\n'''\n"),
        ("python", "import sys\nsys.argv = []\nprint(1)\n#> 1\nsys.exit()\n"),
        ("pycon", ">>> 1 + 1\n2\n>>> object()\n<object object at ...>\n"),
        (
            "pycon",
            ">>> # a word before\n>>> for n in (1, 2):\n...     print(n)\n...\n1\n2\n\n>>> print()\n<BLANKLINE>\n",
        ),
    ],
)
def test_an_example_whose_output_is_shown_is_proven(tmp_path: Path, language: str, text: str) -> None:
    proof = prove(in_page(language, text), tmp_path)
    assert (proof.kind, proof.problem, proof.evidence) == ("executed", "", ("run where it stands, output equal",))


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("print(1)\n#> 2\n", 12, "the page shows `#> 2`, but `1` was printed"),
        ("if False:\n    print(1)\n    #> 1\n", 13, "the page shows `#> 1`, but nothing was printed"),
        ("import sys\nsys.stderr.write('1')\n#> 1\n", 13, "the page shows `#> 1`, but nothing was printed"),
        ("print(1)\n", 0, "`1` was printed, but the page does not show it"),
        ("import sys\nsys.stdout.write('1')\n", 0, "`1` was printed, but the page does not show it"),
        ("import os\nos.system('echo 1')\n", 0, "`1` was printed, but the page does not show it"),
        ("def half(n):\n    return n / 2\n", 12, "this line never ran; run it, or leave it out"),
        ("n = 1\nif n:\n    a = 1\nelse:\n    a = 2\n", 15, "this line never ran"),
        ("def half(n): return n / 2\n", 11, "a second statement on one line could stay unrun unseen"),
        ("half = lambda n: n / 2\n", 11, "a lambda's body could stay unrun unseen"),
        ("def half(n):\n    return n / 0\n\nhalf(1)\n", 12, "ZeroDivisionError: division by zero"),
        ("a = 1\nb = (\n", 12, "SyntaxError: '(' was never closed"),
        ("import sys\nsys.exit(3)\n", 0, "ended with exit code 3"),
        ("import sys\nsys.exit('99: no line of mine')\n", 0, "ended with exit code 1: 99: no line of mine"),
        ("import sys\nsys.exit()\nprint(1)\n", 13, "this line never ran; run it, or leave it out"),
        ("import os\nos._exit(0)\nprint(1)\n", 0, "the example ended its process before all of it ran; let it run"),
        ("a = 1\ncompile('\\n' * 98 + '(', 'x', 'exec')\n", 12, "SyntaxError: '(' was never closed (x, line 99)"),
    ],
)
def test_a_wrong_stale_or_missing_output_and_an_error_are_named_with_their_line(
    tmp_path: Path, text: str, line: int, reason: str
) -> None:
    proof = prove(in_page("python", text), tmp_path)
    assert proof.problem.startswith(reason)
    assert proof.problem_line == line


def test_a_wrong_answer_in_a_session_is_named_with_its_line(tmp_path: Path) -> None:
    proof = prove(in_page("pycon", ">>> 1 + 1\n2\n>>> 2 + 2\n5\n"), tmp_path)
    assert (proof.problem_line, proof.problem) == (13, "the page shows `5`, but got `4`; correct the block")


def test_an_error_in_a_session_is_named_with_its_line(tmp_path: Path) -> None:
    proof = prove(in_page("pycon", ">>> 1 + 1\n2\n>>> missing\n"), tmp_path)
    assert (proof.problem_line, proof.problem) == (13, "NameError: name 'missing' is not defined; correct the block")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (">>> 1 + 1\n2\n\n7 is wrong\n", 14, "`7 is wrong` is neither typed nor answered"),
        ("Python 2.7\n>>> 1 + 1\n2\n", 11, "`Python 2.7` is neither typed nor answered"),
        (">>> # 1 + 1\n3\n", 12, "`3` is neither typed nor answered"),
        (">>> 1\n1\n>>> 1 + 1  # doctest: +SKIP\n3\n", 13, '+SKIP is not run; write skip="reason" on the fence'),
        (">>> print('a\\nb')\na\n", 11, "the page shows `a`, but got `a b`"),
        (">>> import os\n>>> os._exit(0)\n>>> 1 + 1\n3\n", 0, "the example ended its process before all of it ran"),
        (">>> exit()\n>>> 1 + 1\n3\n", 11, "SystemExit: None"),
    ],
)
def test_a_session_that_shows_what_was_not_compared_is_refused_at_its_line(
    tmp_path: Path, text: str, line: int, reason: str
) -> None:
    proof = prove(in_page("pycon", text), tmp_path)
    assert proof.problem.startswith(reason)
    assert proof.problem_line == line


def test_a_broken_module_is_named_at_the_line_that_imports_it(tmp_path: Path) -> None:
    project = AProject(tmp_path)
    project.write("broken_of_mine.py", "\n" * 98 + "a = 1\nb = (\n")
    proof = project.prove(in_page("python", "a = 1\nimport broken_of_mine\n"))
    assert proof.problem.startswith("SyntaxError: '(' was never closed (broken_of_mine.py, line ")
    assert proof.problem_line == 12


def test_an_example_runs_in_an_empty_folder_and_can_import_the_project(tmp_path: Path) -> None:
    project = AProject(tmp_path)
    project.write("snippets_of_mine.py", "ANSWER = 42\n")
    example = "import os\nfrom snippets_of_mine import ANSWER\nprint(ANSWER, os.listdir())\n#> 42 []\n"
    assert project.prove(in_page("python", example)).holds
