"""`python -m melee.objects FOLDER`: the object worker of the app in a folder."""

import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import click

from melee import log
from melee.clock import Clock, SystemClock
from melee.errors import BadInput
from melee.objects.hosting import hosted
from melee.objects.listener import listen
from melee.objects.shard import Shard
from melee.objects.worker import GRACE_SECONDS, Worker
from melee.processes.parent import end_with_parent
from melee.processes.report import Failed, Loaded, Reports, Stopped, failed
from melee.project import Project

LOCK_SECONDS_AT_MOST = 60
"""How long a worker that a server starts waits for the one whose place it takes."""


@dataclass(frozen=True)
class Place:
    """Where a worker stands in the app.

    Args:
        shard: the objects that it owns; default: all.
        listening: where callers come in, as a server gives it to the workers that it starts one after the other. Such
            a worker waits for the one before it. Default: a socket of its own, which is gone afterwards.
        peer_listening: where the app's other workers come in, likewise.
        reports: to the server.
        grace_seconds: how long the end may take.
    """

    shard: Shard = field(default_factory=Shard)
    listening: socket.socket | None = None
    peer_listening: socket.socket | None = None
    reports: Reports = field(default_factory=Reports)
    grace_seconds: float = GRACE_SECONDS


_ALONE = Place()


def serve(
    project: Project, clock: Clock, place: Place = _ALONE, reached: Callable[[str], None] = lambda _point: None
) -> None:
    """Loads an app and serves its objects until SIGTERM."""
    shard, reports = place.shard, place.reports
    project.load()
    reports.tell(Loaded())
    lock_seconds = LOCK_SECONDS_AT_MOST if place.listening else 0
    with hosted(project, clock, reached, shard=shard, lock_seconds=lock_seconds) as host, ExitStack() as own:
        listening = place.listening or own.enter_context(_listening(shard.socket(project)))
        peer_listening = place.peer_listening
        if shard.of > 1 and not peer_listening:
            peer_listening = own.enter_context(_listening(shard.peer_socket(project)))
        worker = Worker(host, listening, clock, reports, place.grace_seconds, peer_listening)
        worker.run()
        next_wake_at = host.next_wake_at()
    # The folder is free for the next worker; a caller that reads slowly does not hold it up.
    worker.send_the_rest()
    _last_word(reports, Stopped(next_wake_at))


@contextmanager
def _listening(path: Path) -> Iterator[socket.socket]:
    yield listen(path)
    path.unlink(missing_ok=True)


def _own(_context: click.Context, _parameter: click.Parameter, descriptor: int | None) -> int | None:
    """Takes a descriptor that was inherited; what an object starts does not inherit it."""
    if descriptor is not None:
        os.set_inheritable(descriptor, False)
    return descriptor


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--data", type=click.Path(path_type=Path), help="The data folder; default: data/ in FOLDER.")
@click.option("--shard", type=int, default=0, help="Which of the workers this is, from 0.")
@click.option("--of", type=int, default=1, help="How many workers share the objects.")
@click.option("--listener", type=int, callback=_own, help="A listening socket for callers.")
@click.option("--peers", type=int, callback=_own, help="A listening socket for the other workers.")
@click.option("--reports", type=int, callback=_own, help="A pipe for reports to the server.")
@click.option("--parent", type=int, help="The process to end with.")
@click.option("--grace", type=float, default=GRACE_SECONDS, help="Seconds that the end may take.")
def main(
    folder: Path,
    data: Path | None,
    shard: int,
    of: int,
    listener: int | None,
    peers: int | None,
    reports: int | None,
    parent: int | None,
    grace: float,
) -> None:
    """Serve the durable objects of the app in FOLDER."""
    if parent is not None:
        end_with_parent(parent)
    log.to_standard_output()
    told = Reports(reports)
    try:
        place = Place(Shard(shard, of), _socket(listener), _socket(peers), told, grace)
        serve(Project.at(folder, data), SystemClock(), place)
    except BadInput as error:
        _last_word(told, failed(str(error)))
        # A server has heard it, and says it where it is wanted.
        sys.exit(1 if told.descriptor is not None else f"melee: {error}")
    except Exception as error:
        _last_word(told, failed(f"{type(error).__name__}: {error}"))
        raise


def _socket(descriptor: int | None) -> socket.socket | None:
    """Closed at the end of the command, however it ends."""
    if descriptor is None:
        return None
    return click.get_current_context().with_resource(socket.socket(fileno=descriptor))


def _last_word(reports: Reports, report: Stopped | Failed) -> None:
    # The end of the server may be why this process ends.
    with suppress(BrokenPipeError):
        reports.tell(report)


if __name__ == "__main__":
    main()
