"""`python -m melee.jobs FOLDER`: the job worker of the app in a folder, and the process that forks its executors.

The app is imported once, before there are two: one forks and holds no database, the other holds it and never forks.
"""

import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import click

from melee import clock, log
from melee.clock import SystemClock
from melee.errors import BadInput
from melee.jobs.counts import Tally, send_counts
from melee.jobs.executor import Executor
from melee.jobs.executors import ForkerLost
from melee.jobs.frames import Board
from melee.jobs.opened import open_jobs
from melee.jobs.queue import Jobs
from melee.jobs.upkeep import LEASE_SECONDS
from melee.jobs.waking import Waking
from melee.jobs.worker import Worker
from melee.objects.request import owned_by
from melee.objects.workers import workers_of
from melee.processes.child import run_as_child
from melee.processes.forker import Forker
from melee.processes.parent import end_with_parent
from melee.processes.report import Reports, failed
from melee.project import JobsConfig, Project

GRACE_SECONDS = 10.0
_NOBODY = Reports()


def work(
    project: Project,
    app: Any,
    stations: list[tuple[list[str], int]],
    grace_seconds: float,
    lease_seconds: float = LEASE_SECONDS,
    reports: Reports = _NOBODY,
    begins: Callable[[], object] = lambda: None,
) -> None:
    """Works on the jobs of a loaded app until SIGTERM; raises `ForkerLost`.

    Args:
        reports: to the server that keeps this process.
        begins: called when signals are heeded.
    """
    time = SystemClock()
    executors = sum(size for _queues, size in stations)
    board = Board(executors)
    waking = Waking(reports, lets_sleep=not project.database_url)

    def begin() -> None:
        begins()
        log.job_worker_works([queue for queues, _size in stations for queue in queues], executors, os.getpid())
        if reports.descriptor is not None and project.database_url:
            log.app_never_sleeps()

    with clock.installed(time, project.config.zone):
        control, pid = _forked(project, app, board)
        try:
            open_database = partial(open_jobs, project, time)
            tally = Tally(partial(send_counts, project.counts), time)
            Worker(
                app.jobs,
                stations,
                control,
                board,
                open_database,
                time,
                grace_seconds,
                waking,
                tally,
                begin,
                lease_seconds,
            ).run()
        finally:
            control.close()
            os.waitpid(pid, 0)


def stations_of(jobs: Jobs, config: JobsConfig) -> list[tuple[list[str], int]]:
    """For each station its queues and how many executors it has, as `[jobs]` says; none when nothing is to be run."""
    if config.queues:
        return [([queue], executors) for queue, executors in config.queues.items()]
    return [(jobs.queues(), config.workers)] if jobs.classes and config.workers else []


def _forked(project: Project, app: Any, board: Board) -> tuple[socket.socket, int]:
    """Starts the process that forks executors; gives the socket on which they are asked for."""
    ours, theirs = socket.socketpair()
    parent_pid = os.getpid()
    pid = os.fork()
    if pid == 0:
        run_as_child(parent_pid, ours.close, lambda: _fork_executors(project, app, board, theirs, parent_pid))
    theirs.close()
    return ours, pid


def _fork_executors(project: Project, app: Any, board: Board, control: socket.socket, parent_pid: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Not by SIGKILL: what the jobs have started has to be ended, too.
    end_with_parent(parent_pid)
    time = SystemClock()
    # It connects when a job makes its first call.
    with owned_by(workers_of(project, project.config.objects.workers, time)):
        Forker(control, lambda connection: Executor(app, connection, board, time).serve()).run()


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--data", type=click.Path(path_type=Path), help="The data folder; default: data/ in FOLDER.")
@click.option("--parent", type=int, help="The process to end with.")
@click.option("--reports", type=int, help="A pipe for reports to the server.")
@click.option("--grace", type=float, default=GRACE_SECONDS, help="Seconds that the end may take.")
@click.option("--lease", type=float, default=LEASE_SECONDS, help="Seconds that jobs are held for a worker that died.")
def main(folder: Path, data: Path | None, parent: int | None, reports: int | None, grace: float, lease: float) -> None:
    """Work on the durable jobs of the app in FOLDER."""
    if parent is not None:
        end_with_parent(parent)
    log.to_standard_output()
    if reports is not None:
        # What a job starts does not inherit it.
        os.set_inheritable(reports, False)
    told = Reports(reports)
    try:
        project = Project.at(folder, data)
        app = project.load().app
        stations = stations_of(app.jobs, project.config.jobs)
        if not stations:
            raise BadInput("there is nothing to work on: no job is registered, or [jobs] workers is 0")
        work(project, app, stations, grace, lease, told)
    except (BadInput, ForkerLost) as error:
        if reports is None:
            sys.exit(f"melee: {error}")
        # The end of the server may be why.
        with suppress(BrokenPipeError):
            told.tell(failed(str(error)))
        sys.exit(1)


if __name__ == "__main__":
    main()
