"""`python -m melee.objects FOLDER`: the object worker of the app in a folder."""

import contextlib
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import click

from melee import log
from melee.clock import Clock, SystemClock
from melee.errors import BadInput
from melee.objects.hosting import hosted
from melee.objects.listener import listen
from melee.objects.report import Failed, Loaded, Reports, Stopped, failed
from melee.objects.worker import GRACE_SECONDS, Worker
from melee.processes.parent import end_with_parent
from melee.project import Project

LOCK_SECONDS_AT_MOST = 60
"""How long a worker that a server starts waits for the one whose place it takes."""

_NOBODY = Reports()


def serve(
    project: Project,
    clock: Clock,
    reached: Callable[[str], None] = lambda _point: None,
    listening: socket.socket | None = None,
    reports: Reports = _NOBODY,
    grace_seconds: float = GRACE_SECONDS,
) -> None:
    """Loads an app and serves its objects until SIGTERM.

    Args:
        listening: where callers come in, as a server gives it to the workers that it starts one after the other. Such
            a worker waits for the one before it. Default: a socket of its own, which is gone afterwards.
        reports: to the server.
        grace_seconds: how long the end may take.
    """
    project.load()
    reports.tell(Loaded())
    with hosted(project, clock, reached, lock_seconds=LOCK_SECONDS_AT_MOST if listening else 0) as host:
        worker = Worker(host, listening or listen(project.socket), clock, reports, grace_seconds)
        worker.run()
        next_wake_at = host.next_wake_at()
        if not listening:
            project.socket.unlink(missing_ok=True)
    # The folder is free for the next worker; a caller that reads slowly does not hold it up.
    worker.send_the_rest()
    _last_word(reports, Stopped(next_wake_at))


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--data", type=click.Path(path_type=Path), help="The data folder; default: data/ in FOLDER.")
@click.option("--listener", type=int, help="The descriptor of a listening socket.")
@click.option("--reports", type=int, help="The descriptor of a pipe for reports to the server.")
@click.option("--parent", type=int, help="The process to end with.")
@click.option("--grace", type=float, default=GRACE_SECONDS, help="Seconds that the end may take.")
def main(
    folder: Path, data: Path | None, listener: int | None, reports: int | None, parent: int | None, grace: float
) -> None:
    """Serve the durable objects of the app in FOLDER."""
    if parent is not None:
        end_with_parent(parent)
    log.to_json()
    for given in (listener, reports):
        if given is not None:
            # What an object starts has no part in it.
            os.set_inheritable(given, False)
    told = Reports(reports)
    try:
        listening = None if listener is None else socket.socket(fileno=listener)
        serve(Project.at(folder, data), SystemClock(), listening=listening, reports=told, grace_seconds=grace)
    except BadInput as error:
        _last_word(told, failed(str(error)))
        sys.exit(f"melee: {error}")
    except SystemExit as error:
        # The app's own, which may well say that all is well.
        _last_word(told, failed(f"SystemExit: {error}"))
        sys.exit(1)
    except Exception as error:
        _last_word(told, failed(f"{type(error).__name__}: {error}"))
        raise


def _last_word(reports: Reports, report: Stopped | Failed) -> None:
    # The end of the server may be why this process ends.
    with contextlib.suppress(BrokenPipeError):
        reports.tell(report)


if __name__ == "__main__":
    main()
