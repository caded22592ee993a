"""`melee generate`: the beginning of something that an app is to have."""

import keyword
import re
from pathlib import Path

import click

from melee.builder.reading import read_sources
from melee.cli.app_folder import app_option, project_of
from melee.cli.registration import Registration
from melee.errors import BadInput
from melee.objects.request import underscored
from melee.project import Project

_LETTERS_AT_MOST = 60
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*", re.ASCII)
# What the files import themselves.
_TAKEN = {"App", "AppUnderTest", "Job", "Path", "Resources"}

_JOB = '''\
"""{words}: a durable job."""

from melee import Job, Resources


class {cls}(Job):
    """Its fields are what is stored. Keep them few, ids rather than records."""

    NAME = "{name}"

    def run(self, resources: Resources) -> None:
        # It may run a second time, when a worker dies: see to it that this does no harm.
        resources.log.info("{name} ran")
'''

_TEST = '''\
"""{words}, run on the spot, on a database of its own."""

from pathlib import Path

from melee.testing import AppUnderTest

FOLDER = Path(__file__).parents[1]


def test_{name}_runs() -> None:
    with AppUnderTest(FOLDER) as app:
        # From here on the modules of the app can be imported.
        from jobs.{name} import {cls}

        assert app.jobs.enqueue({cls}())
        assert app.jobs.enqueued({cls}) == [{cls}()]
        assert app.jobs.run_pending() == 1
        assert app.jobs.stats().queued == 0, "it raised; the log above says what"
'''


@click.group()
def generate() -> None:
    """Write the beginning of a job.

    `melee g` is short for it.

    \b
    Example:
      melee generate job send_welcome
    """


@generate.command()
@click.argument("name")
@app_option
@click.pass_context
def job(context: click.Context, name: str) -> None:
    """Write the class of a durable job, its registration and a test.

    NAME is send_welcome, send-welcome or SendWelcome. The class is in jobs/send_welcome.py, the test in
    tests/test_send_welcome.py, and app.py registers it. A file that exists is not overwritten.

    \b
    Examples:
      melee generate job send_welcome
      melee g job send_welcome --app board
    """
    project = project_of(context)
    file_name, cls = _names(name)
    job_file, test_file = Path("jobs", f"{file_name}.py"), Path("tests", f"test_{file_name}.py")
    _check_free(project, job_file, test_file)
    registration = Registration(f"jobs.{file_name}", cls)
    changed = _registered(project, registration)

    words = {"name": file_name, "cls": cls, "words": file_name.replace("_", " ").capitalize()}
    (project.folder / "jobs").mkdir(exist_ok=True)
    (project.folder / "jobs" / "__init__.py").touch()
    (project.folder / job_file).write_text(_JOB.format(**words), encoding="utf-8")
    click.echo(f"{job_file}: write in run what it does")
    # Last of what the app is made of: it never names a class that is not there.
    if changed is None:
        click.echo("app.py: add these two lines, the second below the one that makes the app")
        for line in registration.lines:
            click.echo(f"    {line}")
    else:
        (project.folder / "app.py").write_text(changed, encoding="utf-8")
        click.echo("app.py: registers it")
    (project.folder / "tests").mkdir(exist_ok=True)
    (project.folder / test_file).write_text(_TEST.format(**words), encoding="utf-8")
    click.echo(f"{test_file}: python -m pytest runs it")


def _names(given: str) -> tuple[str, str]:
    """The name of the job and its file, and that of its class."""
    if not _NAME.fullmatch(given) or len(given) > _LETTERS_AT_MOST:
        problem = f"up to {_LETTERS_AT_MOST} letters, digits and _, a letter first"
        raise BadInput(f"{given!r} is no name for a job; write one such as send_welcome: {problem}")
    name = underscored(given.replace("-", "_"))
    cls = given if given[0].isupper() and given.isalnum() else "".join(map(_capitalized, name.split("_")))
    if keyword.iskeyword(name) or keyword.iskeyword(cls) or cls in _TAKEN:
        raise BadInput(f"{given!r} means something else in Python or in melee; choose another name for the job")
    return name, cls


def _capitalized(word: str) -> str:
    return word[:1].upper() + word[1:]


def _check_free(project: Project, *files: Path) -> None:
    if (project.folder / "jobs.py").exists():
        raise BadInput(f"{project.folder / 'jobs.py'} hides the folder jobs/ from Python; rename it")
    for file in files:
        if (project.folder / file).exists():
            raise BadInput(f"{project.folder / file} exists and is not overwritten; choose another name for the job")


def _registered(project: Project, registration: Registration) -> str | None:
    """The text of app.py with a registration; None when it is not clear where that belongs."""
    [source] = [source for source in read_sources(project.folder)[0] if source.file == "app.py"]
    # Whatever else its lines end with, or it is encoded in, would be lost.
    if not source.is_read or (project.folder / "app.py").read_bytes() != source.text.encode():
        return None
    return registration.put_into(source)
