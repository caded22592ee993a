"""`app.jobs.run_pending()` where no test kit is; what it does is told by the tests of the kit, which calls it."""

from pathlib import Path

import pytest

from melee.project import Project
from tests.conftest import write_app

APP = """
from melee import App, Job

app = App(__name__)
done = []


@app.jobs.register
class Mail(Job):
    NAME = "mail"
    to: str

    def run(self, resources):
        done.append(self.to)


@app.post("/<to>")
def mail(to):
    app.jobs.enqueue(Mail(to=to))
    return "", 201


app.cli.command("work")(lambda: print(app.jobs.run_pending()))
"""


def test_an_app_without_a_worker_runs_what_is_due_when_it_asks_for_it(tmp_path: Path) -> None:
    module = Project.at(write_app(tmp_path, APP)).load()
    for to in ("ada", "grace"):
        module.app.test_client().post(f"/{to}")
    said = module.app.test_cli_runner().invoke(args=["work"])
    assert (said.exit_code, said.output) == (0, "2\n")
    assert module.done == ["ada", "grace"]


def test_outside_of_a_request_the_error_says_what_to_do(tmp_path: Path) -> None:
    module = Project.at(write_app(tmp_path, APP)).load()
    with pytest.raises(RuntimeError, match=r"with app\.app_context\(\)"):
        module.app.jobs.run_pending()
