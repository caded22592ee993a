"""Python shown from a file, in a project whose tests are really run."""

from dataclasses import replace
from pathlib import Path

import pytest

from melee_docs.blocks import Origin
from tests.melee_docs.a_project import AProject

STATS = "melee_examples/board/stats.py"
SOURCE = '''
"""Counts views."""

import os

LIMIT = 3


class Stats:
    name = "views"

    def hit(self, views):
        if views > LIMIT:
            return LIMIT
        return (
            views
            + 1
        )

    def never(self):
        return "never"

    def fails(self):
        return 1

    def skipped(self):
        return 2

    def only_imported(self):
        return 3

    def excluded(self):  # pragma: no cover
        return 4

    def in_fixture(self):
        return 5

    def in_fork(self):
        return 6

    def typed(self) -> int: ...


def one_line(x): return x


def one_line_if(x):
    if x: return 1
    return 2


def one_line_except(x):
    try:
        return x.name
    except AttributeError: return 2


def arms(x):
    return 1 if x else 2


def anonymous(x):
    return sorted(x, key=lambda each: -each)


def one_line_case(x):
    match x:
        case 1: return "one"
    return "other"


def in_any_order(x):
    return "small" in x and "large" in x


Stats().only_imported()
'''
TESTS = """
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "melee_examples" / "board"))
from stats import Stats, anonymous, arms, in_any_order, one_line, one_line_case, one_line_except, one_line_if


@pytest.fixture
def prepared():
    return Stats().in_fixture()


def test_few():
    assert Stats().hit(1) == 2


def test_many():
    assert Stats().hit(9) == 3


def test_few_and_many():
    assert [Stats().hit(1), Stats().hit(9)] == [2, 3]
    Stats().typed()


def test_fails():
    assert Stats().fails() == 2


def test_skipped():
    assert Stats().skipped() == 2
    pytest.skip("half way")


def test_fixture(prepared):
    assert prepared == 5


def test_fork():
    pid = os.fork()
    if pid == 0:
        os._exit(Stats().in_fork())
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 6


def test_unseen_parts():
    one_line_if(1), one_line_except(1), arms(1), anonymous([1]), one_line_case(2), in_any_order("small")
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> AProject:
    project = AProject(tmp_path_factory.mktemp("project"))
    project.write(STATS, SOURCE)
    project.write("tests/test_stats.py", TESTS)
    project.write("melee_examples/board/unused.py", "ANSWER = 42\n")
    assert "proof: 6 passing tests recorded" in project.record("tests").stdout
    return project


def test_a_block_is_proven_by_the_fewest_tests_that_ran_its_lines(project: AProject) -> None:
    proof = project.prove(project.block_at(STATS, "def hit", "        )"))
    assert (proof.kind, proof.evidence, proof.problem) == ("tests", ("tests/test_stats.py::test_few_and_many",), "")


def test_of_two_tests_that_add_as_much_the_one_that_runs_less_of_the_file_is_named(project: AProject) -> None:
    assert project.prove(project.block_at(STATS, "return LIMIT", "return LIMIT")).evidence == (
        "tests/test_stats.py::test_many",
    )


def test_lines_of_a_class_or_a_module_are_proven_by_the_import_and_a_test_that_uses_the_file(project: AProject) -> None:
    proof = project.prove(project.block_at(STATS, "LIMIT = 3", 'name = "views"'))
    assert proof.holds
    assert proof.evidence == ("tests/test_stats.py::test_unseen_parts",)


def test_what_a_fixture_runs_counts_for_its_test(project: AProject) -> None:
    proof = project.prove(project.block_at(STATS, "def in_fixture", "return 5"))
    assert proof.evidence == ("tests/test_stats.py::test_fixture",)


def test_what_a_forked_child_runs_counts_for_its_test(project: AProject) -> None:
    proof = project.prove(project.block_at(STATS, "def in_fork", "return 6"))
    assert proof.evidence == ("tests/test_stats.py::test_fork",)


@pytest.mark.parametrize(
    ("begins", "ends", "reason"),
    [
        ("def never", 'return "never"', "line 20 ran in no passing test; write a test that runs it"),
        ("def fails", "return 1", "line 23 ran only in a test that did not pass: tests/test_stats.py::test_fails"),
        ("def skipped", "return 2", "line 26 ran only in a test that did not pass: tests/test_stats.py::test_skipped"),
        ("def only_imported", "return 3", "line 29 ran only while modules were imported"),
        ("def excluded", "return 4", "line 32 ran in no passing test"),
    ],
)
def test_a_shown_line_that_no_passing_test_ran_is_named(project: AProject, begins: str, ends: str, reason: str) -> None:
    proof = project.prove(project.block_at(STATS, begins, ends))
    assert proof.problem.startswith(f"{STATS} {reason}")
    assert not proof.evidence


@pytest.mark.parametrize(
    ("begins", "ends", "reason"),
    [
        ("def one_line(x)", "return x", "a second statement on one line"),
        ("if x: return 1", "return 2", "a second statement on one line"),
        ("except AttributeError", "return 2", "a second statement on one line"),
        ("case 1", "return", "a second statement on one line"),
        ("1 if x else 2", "1 if x else 2", "one arm of `a if b else c`"),
        ("lambda", "lambda", "a lambda's body"),
    ],
)
def test_what_line_coverage_cannot_see_is_refused_with_its_place(
    project: AProject, begins: str, ends: str, reason: str
) -> None:
    block = project.block_at(STATS, begins, ends)
    assert project.prove(block).problem.startswith(f"{STATS}:{block.origins[0].line}: {reason}")


def test_a_body_that_is_only_an_ellipsis_may_stand_on_the_line_of_its_def(project: AProject) -> None:
    assert project.prove(project.block_at(STATS, "def typed", "def typed")).holds


def test_operands_of_and_are_not_looked_at(project: AProject) -> None:
    assert project.prove(project.block_at(STATS, "def in_any_order", "return")).holds


def test_a_file_that_no_test_uses_is_not_proven_by_being_there(project: AProject) -> None:
    problem = project.prove(project.block_of("melee_examples/board/unused.py")).problem
    assert (
        problem
        == "melee_examples/board/unused.py line 1 ran in no passing test; write a test that runs it, or do not show it"
    )


def test_a_block_may_show_lines_of_two_files(project: AProject) -> None:
    hit = project.block_at(STATS, "def in_fork", "return 6")
    unused = project.block_of("melee_examples/board/unused.py")
    both = replace(hit, text=hit.text + unused.text, origins=hit.origins + unused.origins)
    assert "unused.py line 1 ran in no passing test" in project.prove(both).problem


def test_a_file_outside_the_measured_folders_is_not_proven(project: AProject) -> None:
    project.write("elsewhere.py", "x = 1\n")
    block = replace(project.block_of("elsewhere.py"), origins=(Origin(Path("elsewhere.py"), 1),))
    assert "elsewhere.py was not there, or is not measured, when the tests ran" in project.prove(block).problem


def test_a_file_changed_after_the_run_is_stale_and_so_is_a_changed_test(tmp_path: Path) -> None:
    project = AProject(tmp_path)
    project.write("snippets/x/add.py", "def add(a, b):\n    return a + b\n")
    test = "import runpy\n\ndef test_add():\n    assert runpy.run_path('snippets/x/add.py')['add'](1, 2) == 3\n"
    project.write("tests/test_add.py", test)
    project.record("tests")
    block = project.block_of("snippets/x/add.py")
    assert project.prove(block).evidence == ("tests/test_add.py::test_add",)

    project.write("tests/test_add.py", test + "# changed\n")
    assert project.prove(block).problem.startswith("tests/test_add.py has changed since the tests ran; run: python -m")

    project.write("snippets/x/add.py", "def add(a, b):\n    return a - b\n")
    assert project.prove(block).problem.startswith("snippets/x/add.py has changed since the tests ran; run: python -m")


def test_without_a_recorded_run_nothing_is_proven(tmp_path: Path) -> None:
    project = AProject(tmp_path)
    project.write("snippets/x/add.py", "def add(a, b):\n    return a + b\n")
    problem = project.prove(project.block_of("snippets/x/add.py")).problem
    assert problem.startswith("no run of the tests is recorded")
    assert problem.endswith("run: python -m pytest -p melee_docs.pytest_plugin --proof=.proof")
