"""Recording a run: real pytest runs, in processes of their own, in small projects."""

import json
from pathlib import Path

import pytest
from coverage import CoverageData

from melee_docs.coverage import Contexts, read_lines
from melee_docs.pytest_plugin import merge
from tests.melee_docs.a_project import AProject

WORK = """
import sys

def work(name):
    return name.upper()

if __name__ == "__main__":
    print(work(sys.argv[1]))
"""
SERVE = """
import signal

def main():
    print("ready", flush=True)
    signal.pause()

main()
"""
TESTS = """
import subprocess
import sys
from pathlib import Path

import pytest

WORK = Path(__file__).parents[1] / "snippets" / "work.py"
SERVE = Path(__file__).parents[1] / "snippets" / "serve.py"


@pytest.fixture(scope="module")
def shared():
    return subprocess.run([sys.executable, WORK, "b"], capture_output=True, text=True, check=True).stdout


def test_spawned():
    done = subprocess.run([sys.executable, WORK, "a"], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("A\\n", "")


def test_stopped():
    process = subprocess.Popen([sys.executable, SERVE], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\\n"
    process.terminate()
    process.wait()
    process.stdout.close()


def test_teardown_fails(request):
    request.addfinalizer(lambda: 1 / 0)


@pytest.mark.xfail(strict=True)
def test_expected_to_fail():
    assert False
"""


def written(root: Path) -> AProject:
    project = AProject(root)
    project.write("snippets/work.py", WORK)
    project.write("snippets/serve.py", SERVE)
    project.write("tests/test_work.py", TESTS)
    return project


@pytest.fixture
def project(tmp_path: Path) -> AProject:
    return written(tmp_path)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> AProject:
    project = written(tmp_path_factory.mktemp("project"))
    project.record("tests")
    return project


def contexts(project: AProject, file: str) -> Contexts:
    return read_lines(project.root / ".proof/coverage").get(str(project.root / file), {})


def outcomes(project: AProject) -> dict[str, str]:
    record = json.loads((project.root / ".proof/tests.json").read_text(encoding="utf-8"))
    return {name.partition("::")[2]: test["outcome"] for name, test in record["tests"].items()}


def test_processes_count_for_the_test_that_started_them_and_print_nothing_more(recorded: AProject) -> None:
    assert contexts(recorded, "snippets/work.py")[4] == {"tests/test_work.py::test_spawned"}


def test_a_process_ended_by_sigterm_is_recorded(recorded: AProject) -> None:
    assert contexts(recorded, "snippets/serve.py")[4] == {"tests/test_work.py::test_stopped"}


def test_a_process_of_a_shared_fixture_counts_for_no_test(project: AProject) -> None:
    project.write("tests/test_work.py", TESTS + "\n\ndef test_shared(shared):\n    assert shared == 'B\\n'\n")
    project.record("tests", "-k", "test_shared")
    assert contexts(project, "snippets/work.py")[4] == {""}


def test_a_test_passes_only_when_its_fixtures_do_too(recorded: AProject) -> None:
    assert outcomes(recorded) == {
        "test_spawned": "passed",
        "test_stopped": "passed",
        "test_teardown_fails": "failed",
        "test_expected_to_fail": "skipped",
    }


def test_the_place_of_a_test_and_the_digests_of_what_was_run_are_recorded(recorded: AProject) -> None:
    record = json.loads((recorded.root / ".proof/tests.json").read_text(encoding="utf-8"))
    spawned = {"file": "tests/test_work.py", "line": 16, "outcome": "passed"}
    assert record["tests"]["tests/test_work.py::test_spawned"] == spawned
    assert sorted(record["files"]) == ["snippets/serve.py", "snippets/work.py", "tests/test_work.py"]


def test_a_new_run_forgets_the_one_before(project: AProject) -> None:
    project.record("tests", "-k", "test_spawned")
    project.record("tests", "-k", "test_stopped")
    assert outcomes(project) == {"test_stopped": "passed"}
    assert contexts(project, "snippets/work.py") == {}


def test_without_the_option_nothing_is_recorded(project: AProject) -> None:
    project.run("-m", "pytest", "-q", "-p", "melee_docs.pytest_plugin", "tests", "-k", "test_spawned")
    assert not (project.root / ".proof").exists()


def test_several_workers_are_refused(project: AProject) -> None:
    ended = project.record("tests", "-p", "xdist", "-n", "2")
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--proof records one process at a time; leave out -n" in ended.stderr


def test_a_project_with_nothing_to_measure_is_refused(tmp_path: Path) -> None:
    ended = AProject(tmp_path).record()
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert "has neither of the folders melee_examples, snippets; nothing to measure" in ended.stderr


def test_what_a_killed_process_left_half_written_is_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    good = CoverageData(basename=str(parts / "part.good"))
    good.set_context("test_x")
    good.add_lines({"/x.py": [1, 2]})
    good.write()
    good.close(force=True)
    whole = (parts / "part.good").read_bytes()
    (parts / "part.half").write_bytes(whole[: len(whole) // 2])
    (parts / "part.nothing").write_bytes(b"\0" * 4096)
    assert merge(parts, tmp_path / "coverage") == ["part.half", "part.nothing"]
    ran = frozenset({"test_x"})
    assert read_lines(tmp_path / "coverage") == {"/x.py": {1: ran, 2: ran}}
