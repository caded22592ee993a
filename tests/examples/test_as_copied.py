"""What is true of every example in the hands of a reader."""

import re
import subprocess
import venv
from pathlib import Path

import pytest

from tests.examples.copied import EXAMPLES, ROOT, copy_of, melee_dev, page, run_its_tests
from tests.examples.faults import FAULTS, Fault

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)


@pytest.mark.slow
def test_its_own_tests_pass_where_it_was_copied_with_no_more_than_its_readme_installs(tmp_path: Path) -> None:
    readmes = {example: (example / "README.md").read_text(encoding="utf-8") for example in EXAMPLES}
    for readme in readmes.values():
        assert re.findall(r"^pip install (\S+)$", readme, re.MULTILINE) == ["melee-runtime", "pytest"]
    venv.create(tmp_path / "new", with_pip=True)
    python = tmp_path / "new" / "bin" / "python"
    # The package as it is in this repository, not as it was when it was last published.
    subprocess.run([python, "-m", "pip", "install", "--quiet", ROOT, "pytest"], check=True, timeout=300)

    for example in EXAMPLES:
        copied = copy_of(example, tmp_path)
        run = run_its_tests(copied, python=python)
        assert run.returncode == 0, run.stdout + run.stderr
        assert re.search(r"\d\d passed", run.stdout)
        assert not (copied / "data").exists()


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_its_own_tests_catch_a_fault(fault: Fault, tmp_path: Path) -> None:
    copied = copy_of(ROOT / "melee_examples" / fault.example, tmp_path)
    source = (copied / fault.file).read_text(encoding="utf-8")
    assert fault.right in source
    (copied / fault.file).write_text(source.replace(fault.right, fault.wrong), encoding="utf-8")

    test = node_of(fault.caught_by, copied)
    run = run_its_tests(copied, test)
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout + run.stderr
    assert f"FAILED {test}" in run.stdout
    assert re.search(r"^E +(AssertionError: )?assert ", run.stdout, re.MULTILINE), run.stdout


def node_of(test: str, example: Path) -> str:
    """What selects a test of an example, wherever it stands."""
    name = test.partition("[")[0]
    (file,) = [file for file in (example / "tests").glob("test_*.py") if f"def {name}(" in file.read_text("utf-8")]
    return f"tests/{file.name}::{test}"


@each_example
def test_what_its_readme_says_is_where_is_there(example: Path) -> None:
    table = (example / "README.md").read_text(encoding="utf-8").partition("## What is where")[2]
    named = [name for row in re.findall(r"^\| (.+?) \|", table, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)]
    assert len(named) >= 5
    assert [name for name in named if not (example / name).exists()] == []


@each_example
def test_the_files_that_its_pages_name_are_served(example: Path, tmp_path: Path) -> None:
    copied = copy_of(example, tmp_path)
    with melee_dev(copied) as url:
        files = re.findall(r'href="/(static/[^"]+)"', page(url))

        assert sorted(files) == sorted(f"static/{file.name}" for file in (copied / "static").iterdir())
        for file in files:
            assert page(url + file) == (copied / file).read_text(encoding="utf-8")
