"""`python -m melee.web TARGET --control FD --parent PID --workers N`: the request parent, started by the server.

It imports the app once, opens no database, and forks the children that serve requests.
"""

import os
import socket
import sys
from contextlib import ExitStack
from pathlib import Path

import click

from melee import clock, log
from melee.clock import SystemClock
from melee.errors import BadInput
from melee.objects.request import owned_by
from melee.objects.workers import workers_of
from melee.processes.control import Asked, Channel, Failed, Loaded
from melee.processes.forker import Forker
from melee.processes.parent import end_with_parent
from melee.web.app import App
from melee.web.request_child import serve_requests
from melee.web.target import AppFolder, Target, WsgiApp, target_named
from melee.web.warm_up import warm_up


@click.command()
@click.argument("target")
@click.option("--control", required=True, type=int, help="The descriptor on which children are asked for.")
@click.option("--parent", required=True, type=int, help="The process that starts this one.")
@click.option("--workers", type=int, default=1, help="How many object workers share the objects of TARGET.")
def main(target: str, control: int, parent: int, workers: int) -> None:
    """Fork a child for each request that TARGET is to serve."""
    end_with_parent(parent)
    log.to_standard_output()
    # What the app starts has no part in it.
    os.set_inheritable(control, False)
    connection = socket.socket(fileno=control)
    try:
        serving = target_named(target, Path())
        app, per_child = serving.load(), serving.config.web.requests_per_child
    except BadInput as error:
        with connection:
            Channel(connection, Asked).send(Failed(str(error)))
        sys.exit(1)
    warm_up(app)
    with _reaching_objects_of(serving, workers):
        Forker(connection, lambda child: serve_requests(app, child, per_child), Loaded(_jobs_of(app))).run()


def _reaching_objects_of(target: Target, workers: int) -> ExitStack:
    """Inside, handles find the object worker, and `melee.now()` is in the app's zone."""
    entered, time = ExitStack(), SystemClock()
    entered.enter_context(clock.installed(time, target.config.zone))
    if isinstance(target, AppFolder):
        # It connects when a child makes its first call.
        entered.enter_context(owned_by(workers_of(target.project, workers, time)))
    return entered


def _jobs_of(app: WsgiApp) -> list[str]:
    return list(app.jobs.classes) if isinstance(app, App) else []


if __name__ == "__main__":
    main()
