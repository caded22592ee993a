"""The process that runs jobs, one at a time, for the worker at the other end of its socket."""

import asyncio
import inspect
import os
import socket
from collections.abc import Mapping
from typing import Any

from melee import log
from melee.clock import Clock
from melee.errors import ShapeError
from melee.jobs.frames import Begin, Board, Failed, Order, Ran, Told, Unpacker, packed
from melee.jobs.job import Job, job_of
from melee.jobs.resources import Resources

_ERROR_LETTERS_AT_MOST = 10_000


class Executor:
    """Runs the jobs of an app until the worker closes the connection.

    Args:
        app: gives each job its context, and `jobs.classes`.
        board: where the worker sees how far this is.
        clock: measures how long a job takes.
    """

    def __init__(self, app: Any, connection: socket.socket, board: Board, clock: Clock) -> None:
        self._app, self._connection, self._board, self._clock = app, connection, board, clock
        self._classes: Mapping[str, type[Job]] = app.jobs.classes
        self._pid = os.getpid()
        self._line = 0
        self._jobs = 0

    def serve(self) -> None:
        unpacker: Unpacker[Told] = Unpacker(Told)
        with self._app.keeping_database():
            while (messages := unpacker.receive(self._connection)) is not None:
                for message in messages:
                    if isinstance(message, Begin):
                        self._line = message.line
                        continue
                    seconds = [self._run(order) for order in message.orders]
                    self._connection.sendall(packed(Ran(seconds)))

    def _run(self, order: Order) -> float | None:
        """Runs one job; a failure is told before the board says that it ended."""
        number, began_at = self._jobs + 1, self._clock.elapsed()
        may_run = self._board.begin(self._line, number, began_at)
        problem = run_job(self._app, self._classes.get(order.name), order) if may_run else None
        if os.getpid() != self._pid:
            # A fork that the job made came back from it, too.
            os._exit(1)
        if problem:
            error, is_final = problem
            self._connection.sendall(packed(Failed(number, error, is_final)))
        self._jobs = number
        self._board.end(self._line, number)
        return self._clock.elapsed() - began_at if may_run else None


def run_job(
    app: Any, cls: type[Job] | None, order: Order, lets_through: tuple[type[BaseException], ...] = ()
) -> tuple[str, bool] | None:
    """Runs a job to its end, in a context of the app.

    Args:
        lets_through: what is no failure of the job, but meant for the process that runs it.

    Returns why it failed, and whether that is final, since its payload does not fit its class; None when it is done.
    """
    with log.of_job(order.name, order.id) as logger:
        try:
            if cls is None:
                raise ShapeError(order.name, "no class of this name is registered")
            job = job_of(cls, order.payload)
        except ShapeError as error:
            log.job_failed(order.name, order.attempt, error)
            return str(error), True
        try:
            with app.app_context():
                result = job.run(Resources(app, logger))
                if result is not None and inspect.isawaitable(result):
                    # With a loop of its own: what one job leaves pending must not go on in the next.
                    asyncio.run(_awaited(result))
        except lets_through:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever the job does, another one is next
            log.job_failed(order.name, order.attempt, error)
            message, trace = log.described(error)
            return f"{type(error).__name__}: {message}\n\n{trace}"[:_ERROR_LETTERS_AT_MOST], False
    return None


async def _awaited(result: Any) -> None:
    await result
