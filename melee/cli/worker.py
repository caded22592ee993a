"""`melee worker`: the same app, working on its durable jobs and serving nobody."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from melee import log
from melee.errors import BadInput
from melee.jobs.__main__ import stations_of, work
from melee.jobs.executors import ForkerLost
from melee.jobs.queue import Jobs
from melee.project import Project
from melee.words import visible

_EXECUTORS_AT_MOST = 1000
_EXAMPLE = "such as --queues search=8"

Stations = list[tuple[list[str], int]]


@click.command()
@click.argument("app", default=".", type=click.Path(path_type=Path))
@click.option(
    "--queues", multiple=True, metavar="NAME=N[,…]", help="Work on these alone, up to N jobs of each at once."
)
def worker(app: Path, queues: tuple[str, ...]) -> None:
    """Work on the durable jobs of the app in folder APP (default: this one).

    `melee serve` does that already, with as many processes as [jobs] of melee.toml says. This command adds others:
    for one queue that has a lot to do, or on another machine. With jobs in Postgres (DATABASE_URL) it runs wherever
    the app's code is. With jobs in SQLite it runs on the machine of the server, on the same data folder. Jobs that
    call durable objects need the server on the same machine.

    Without --queues it works on what melee.toml says. Ctrl-C or SIGTERM stops it: it takes no more jobs, and those
    that run have [server] grace_seconds to end; what has not ended by then is queued again. A second Ctrl-C stops it
    at once.

    \b
    Examples:
      melee worker
      melee worker board --queues search=8
      melee worker board --queues default=4,search=1
    """
    wanted = [_queue_of(part) for given in queues for part in given.split(",")]
    project = Project.at(app)
    _ = project.config, project.database_url
    log.to_standard_output()
    loaded = project.load().app
    stations = _stations(project, loaded, wanted)
    name, grace_seconds = visible(project.folder.name), project.config.server.grace_seconds

    def say_what_is_worked_on() -> None:
        shown = ", ".join(f"{' and '.join(map(visible, names))} ({executors} at once)" for names, executors in stations)
        click.echo(f"{name} works on {shown}; Ctrl-C stops it")

    try:
        work(project, loaded, stations, grace_seconds, begins=say_what_is_worked_on)
    except ForkerLost:
        raise BadInput("the process that runs the jobs was killed; those that it ran are queued again") from None
    # In order, even if nobody hears it.
    with contextlib.suppress(BrokenPipeError):
        click.echo("stopped", err=True)


def _queue_of(part: str) -> tuple[str, int]:
    """The name and the number in `search=8`."""
    name, _, number = (text.strip() for text in part.rpartition("="))
    if not name:
        raise BadInput(f"--queues {part!r}: say how many of its jobs may run at once, {_EXAMPLE}")
    if not (number.isascii() and number.isdecimal()) or not 1 <= int(number) <= _EXECUTORS_AT_MOST:
        problem = f"{number!r} is no number from 1 to {_EXECUTORS_AT_MOST}, {_EXAMPLE}"
        raise BadInput(f"--queues {part!r}: {problem}")
    return name, int(number)


def _stations(project: Project, app: Any, wanted: Sequence[tuple[str, int]]) -> Stations:
    jobs = getattr(app, "jobs", None)
    if not isinstance(jobs, Jobs) or not jobs.classes:
        raise BadInput(f"{project.folder.name} has no jobs; register one with app.jobs.register(SendWelcome)")
    for number, (name, _executors) in enumerate(wanted):
        if name in [other for other, _executors in wanted[:number]]:
            raise BadInput(f"--queues names {name!r} twice; name it once, with the sum")
        if name not in jobs.queues():
            problem = f"none of its jobs has QUEUE = {name!r}; there is {', '.join(jobs.queues())}"
            raise BadInput(f"--queues {name}: {problem}")
    stations = [([name], executors) for name, executors in wanted] or stations_of(jobs, project.config.jobs)
    if not stations:
        raise BadInput(f"[jobs] workers is 0 in melee.toml; say what to work on, {_EXAMPLE}")
    return stations
