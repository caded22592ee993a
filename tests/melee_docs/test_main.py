"""`python -m melee_docs prove` on a small guide, from its pages to its exit code."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from melee_docs.ledger import Ledger
from melee_docs.proofs.running import unmeasured
from tests.melee_docs.a_project import MELEE, AProject

CONFIG = """
site_name: test
plugins: []
markdown_extensions:
  - attr_list
  - tables
  - pymdownx.snippets:
      base_path: [.]
  - pymdownx.superfences
  - melee_docs.markdown
"""
PAGE = """
# Adding

```python
--8<-- "snippets/add.py"
```

```python
print(1)
#> 1
```

```text skip="says what a picture would"
a tree of files
```
"""
TESTS = """
import runpy


def test_add():
    assert runpy.run_path("snippets/add.py")["add"](1, 2) == 3
"""


@pytest.fixture
def project(tmp_path: Path) -> AProject:
    project = AProject(tmp_path)
    project.write("mkdocs.yml", CONFIG)
    project.write("pyproject.toml", "[tool.melee_docs]\nskips_at_most = 1\n")
    project.write("docs/index.md", PAGE)
    project.write("snippets/add.py", "def add(a, b):\n    return a + b\n")
    project.write("tests/test_add.py", TESTS)
    return project


def test_a_guide_is_proven_and_its_proofs_written(project: AProject) -> None:
    project.record("tests")
    ended = project.run("-m", "melee_docs", "prove")
    assert ended.stdout.splitlines() == [
        "found 3 blocks on 1 page",
        "wrote .proof/proof.json, .proof/report.md and 1 page of tests",
        "3 blocks on 1 page: 1 by tests, 1 run in the page, 1 not run, with a reason",
    ]
    assert (ended.stderr, ended.returncode) == ("", 0)
    assert [proof.page_line for proof in Ledger.read(project.root / ".proof/proof.json").proofs] == [3, 7, 12]
    assert (project.root / "docs/about/tests/tests-test_add.md").is_file()


def test_all_problems_are_named_at_once_with_exit_code_1(project: AProject) -> None:
    more = '\n```text skip="another"\nmore\n```\n\n```rust\nfn main() {}\n```\n'
    project.write("docs/index.md", PAGE.replace("#> 1", "#> 2") + more)
    ended = project.run("-m", "melee_docs", "prove")
    lines = ended.stderr.splitlines()
    assert lines[0].startswith("docs/index.md:3: no run of the tests is recorded in ")
    assert lines[1] == "docs/index.md:9: the page shows `#> 2`, but `1` was printed; correct the `#>` line"
    assert lines[2].startswith("docs/index.md:20: no proof is known for 'rust'; use python,")
    assert lines[3].startswith("pyproject.toml: 2 blocks not run, but [tool.melee_docs] skips_at_most allows 1")
    assert (lines[4:], ended.returncode) == (["4 problems"], 1)


def test_pages_that_cannot_be_read_are_named_without_a_traceback(project: AProject) -> None:
    project.write("docs/index.md", '```python\n--8<-- "snippets/missing.py"\n```\n')
    ended = project.run("-m", "melee_docs", "prove")
    assert "docs/index.md:2: the include 'snippets/missing.py' is not a file" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.returncode == 1


def test_fewer_skips_than_allowed_ask_to_lower_the_number(project: AProject) -> None:
    project.write("docs/index.md", "```toml\na = 1\n```\n")
    ended = project.run("-m", "melee_docs", "prove", "--root", ".")
    assert ended.stdout.splitlines()[-1] == "0 blocks not run: lower [tool.melee_docs] skips_at_most to 0"
    assert ended.returncode == 0


def test_help_teaches_the_two_steps(project: AProject) -> None:
    shown = project.run("-m", "melee_docs", "--help").stdout
    assert "python -m pytest -p melee_docs.pytest_plugin --proof=.proof" in shown
    assert "python -m melee_docs prove" in shown


def test_an_interrupt_ends_the_proving_and_what_it_runs(project: AProject) -> None:
    fifo = project.root / "alive"
    os.mkfifo(fifo)
    project.write("docs/index.md", f"```console\n$ echo started > {fifo}; exec sleep 1000 > {fifo}\n```\n")
    variables = unmeasured(os.environ) | {"PYTHONPATH": str(MELEE), "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "melee_docs", "prove"]
    proving = subprocess.Popen(command, cwd=project.root, env=variables, stderr=subprocess.PIPE, text=True)
    with fifo.open() as alive:
        assert alive.readline() == "started\n"
        proving.send_signal(signal.SIGINT)
        _, errors = proving.communicate(timeout=30)
        # The end of the file: nobody is left who could write to it.
        assert alive.read() == ""
    assert (errors.strip(), proving.returncode) == ("Aborted!", 1)
