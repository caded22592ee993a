"""The executors of a queue as their worker sees them: who is free, what each runs, and what came of it."""

import select
import socket
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from melee.clock import Clock
from melee.jobs.frames import Answered, Begin, Board, Failed, Order, Run, Told, Unpacker, packed
from melee.jobs.store import Claim

_FRAMES_AT_ONCE = 2
"""While an executor runs one frame the next is there already."""


class Outcomes(Protocol):
    """Who wants to know what became of claims."""

    def took(self, claim: Claim, seconds: float) -> None:
        """It has run to its end, good or bad."""

    def succeeded(self, claims: Sequence[Claim], seconds: Sequence[float]) -> None: ...

    def raised(self, claim: Claim, error: str, is_final: bool) -> None: ...

    def cut_off(self, claim: Claim, reason: str) -> None:
        """It was running when its executor ended."""

    def untouched(self, claims: Sequence[Claim]) -> None:
        """They had not begun when their executor ended."""


@dataclass(eq=False)
class Executor:
    """One executor.

    Attributes:
        claims: what it was given, in order, without what it has answered for.
        answered: how many jobs it has answered for.
        reason: why it was killed, if it was.
    """

    pid: int
    connection: socket.socket
    line: int
    unpacker: Unpacker[Answered] = field(default_factory=lambda: Unpacker(Answered))
    claims: deque[Claim] = field(default_factory=deque)
    frames: deque[int] = field(default_factory=deque)
    failed: set[int] = field(default_factory=set)
    answered: int = 0
    unsent: bytearray = field(default_factory=bytearray)
    reason: str = ""


class Crew:
    """The executors of one or more queues.

    Args:
        size: how many there are to be.
        board: has a line for each, from `first_line`.
        kill: ends a process and all that it started.
    """

    def __init__(
        self, size: int, board: Board, first_line: int, clock: Clock, outcomes: Outcomes, kill: Callable[[int], None]
    ) -> None:
        self.size = size
        self._board, self._clock, self._outcomes, self._kill = board, clock, outcomes, kill
        self._free_lines = list(range(first_line, first_line + size))
        self.executors: dict[int, Executor] = {}

    @property
    def wants(self) -> bool:
        """Whether it lacks an executor."""
        return bool(self._free_lines)

    @property
    def is_busy(self) -> bool:
        return any(executor.claims for executor in self.executors.values())

    def add(self, pid: int, connection: socket.socket) -> Executor:
        connection.setblocking(False)
        executor = Executor(pid, connection, self._free_lines.pop())
        self._board.write(executor.line, 0, 0, 0)
        self.executors[pid] = executor
        self._send(executor, Begin(executor.line))
        return executor

    def free(self) -> list[Executor]:
        """Those that can be given more, those with nothing to do first."""
        able = [
            executor
            for executor in self.executors.values()
            if len(executor.frames) < _FRAMES_AT_ONCE and not executor.reason
        ]
        return sorted(able, key=lambda executor: len(executor.frames))

    def give(self, executor: Executor, claims: Sequence[Claim]) -> None:
        executor.claims.extend(claims)
        executor.frames.append(len(claims))
        self._send(executor, Run([Order(claim.id, claim.name, claim.payload, claim.attempt) for claim in claims]))

    def hear(self, executor: Executor) -> bool:
        """Takes in what an executor has to say; False when it will say no more."""
        messages = executor.unpacker.receive(executor.connection)
        for message in messages or []:
            if isinstance(message, Failed):
                claim = executor.claims[message.number - executor.answered - 1]
                executor.failed.add(message.number)
                self._outcomes.raised(claim, message.error, message.is_final)
            else:
                executor.frames.popleft()
                for claim, seconds in zip(executor.claims, message.seconds, strict=False):
                    self._outcomes.took(claim, seconds)
                self._answered(executor, message.seconds)
        return messages is not None

    def send_the_rest(self, executor: Executor) -> None:
        """Sends on what the executor had no room for; it may be busy for long, and is not waited for."""
        try:
            while executor.unsent:
                del executor.unsent[: executor.connection.send(executor.unsent)]
        except BlockingIOError:
            return
        except OSError:
            # It has ended, and whoever reaps it says so.
            executor.unsent.clear()

    def running(self, executor: Executor) -> tuple[Claim, float] | None:
        """What an executor is running, and for how many seconds."""
        begun, ended, began_at = self._board.read(executor.line)
        index = begun - executor.answered - 1
        if begun == ended or not 0 <= index < len(executor.claims):
            return None
        return executor.claims[index], self._clock.elapsed() - began_at

    def cut_off(self, executor: Executor, reason: str) -> None:
        """Ends an executor and with it the job that it runs."""
        if not executor.reason:
            executor.reason = reason
            self._kill(executor.pid)

    def lose(self, pid: int, reason: str) -> bool:
        """An executor has ended: what it had done is done, what it ran is cut off, and the rest is untouched.

        Returns whether it had ever begun a job.
        """
        executor = self.executors.pop(pid)
        while select.select([executor.connection], [], [], 0)[0] and self.hear(executor):
            pass
        begun, ended, _began_at = self._board.read(executor.line)
        self._answered(executor, [0.0] * (ended - executor.answered))
        if begun > ended and executor.claims:
            self._outcomes.cut_off(executor.claims.popleft(), executor.reason or reason)
        self._outcomes.untouched([*executor.claims])
        self._free_lines.append(executor.line)
        executor.connection.close()
        return begun > 0

    def _answered(self, executor: Executor, seconds: Sequence[float]) -> None:
        """So many jobs more have ended, all well but those that were said to have failed."""
        ended = [executor.claims.popleft() for _job in seconds]
        first = executor.answered + 1
        executor.answered += len(ended)
        good = [index for index in range(len(ended)) if first + index not in executor.failed]
        executor.failed.difference_update(range(first, executor.answered + 1))
        self._outcomes.succeeded([ended[index] for index in good], [seconds[index] for index in good])

    def _send(self, executor: Executor, message: Told) -> None:
        executor.unsent += packed(message)
        self.send_the_rest(executor)
