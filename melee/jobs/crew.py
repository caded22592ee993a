"""The executors of a queue as their worker sees them: who is free, what each runs, and what came of it."""

import select
import socket
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
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

    def succeeded(self, claims: Sequence[Claim]) -> None: ...

    def raised(self, claim: Claim, error: str, is_final: bool) -> None: ...

    def cut_off(self, claim: Claim, reason: str) -> None:
        """It was running when its executor ended."""

    def untouched(self, claims: Sequence[Claim]) -> None:
        """They have not run, or not to their end through no fault of their own."""


@dataclass(eq=False)
class Executor:
    """One executor.

    Attributes:
        claims: what it was given, in order, without what it has answered for; None for what was taken back.
        answered: how many jobs it has answered for.
        frames: the number of the last job of each, in order.
        limit: it begins no job after this one before it has answered for all it was given; None for no limit.
        is_killed: whether its end was asked for.
        doomed: which of its jobs it is killed for, and why; (0, "") when that is for none of them.
    """

    pid: int
    connection: socket.socket
    line: int
    unpacker: Unpacker[Answered] = field(default_factory=lambda: Unpacker(Answered))
    claims: deque[Claim | None] = field(default_factory=deque)
    frames: deque[int] = field(default_factory=deque)
    failed: set[int] = field(default_factory=set)
    answered: int = 0
    unsent: bytearray = field(default_factory=bytearray)
    limit: int | None = None
    is_killed: bool = False
    doomed: tuple[int, str] = (0, "")

    @property
    def is_busy(self) -> bool:
        return any(self.claims)


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
    def lacks(self) -> int:
        """How many executors it lacks."""
        return len(self._free_lines)

    @property
    def is_busy(self) -> bool:
        return any(executor.is_busy for executor in self.executors.values())

    def add(self, pid: int, connection: socket.socket) -> Executor:
        connection.setblocking(False)
        executor = Executor(pid, connection, self._free_lines.pop())
        self._board.clear(executor.line)
        self.executors[pid] = executor
        self._send(executor, Begin(executor.line))
        return executor

    def free(self) -> list[Executor]:
        """Those that can be given more, those with nothing to do first."""
        able = [
            executor
            for executor in self.executors.values()
            if len(executor.frames) < _FRAMES_AT_ONCE and executor.limit is None and not executor.is_killed
        ]
        return sorted(able, key=lambda executor: len(executor.frames))

    def give(self, executor: Executor, claims: Sequence[Claim]) -> None:
        executor.claims.extend(claims)
        executor.frames.append(executor.answered + len(executor.claims))
        self._send(executor, Run([Order(claim.id, claim.name, claim.payload, claim.attempt) for claim in claims]))

    def hear(self, executor: Executor) -> bool:
        """Takes in what an executor has to say; False when it will say no more."""
        messages = executor.unpacker.receive(executor.connection)
        for message in messages or []:
            if isinstance(message, Failed):
                executor.failed.add(message.number)
                if claim := executor.claims[message.number - executor.answered - 1]:
                    self._outcomes.raised(claim, message.error, message.is_final)
            else:
                unanswered = executor.frames.popleft() - executor.answered
                seconds = message.seconds[len(message.seconds) - unanswered :]
                self._learn(executor, seconds)
                self._answered(executor, [duration is not None for duration in seconds])
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
        """What an executor is running, and for how many seconds; one that is known to have failed is not run any more,
        although the board says so for another moment."""
        begun, ended, began_at = self._board.read(executor.line)
        index = begun - executor.answered - 1
        is_running = begun > ended and begun not in executor.failed
        claim = executor.claims[index] if is_running and 0 <= index < len(executor.claims) else None
        return (claim, self._clock.elapsed() - began_at) if claim else None

    def busy_seconds(self) -> float:
        """For how long all of them have been at the job that they run; 0 while one is free, or there is none."""
        running = [self.running(executor) for executor in self.executors.values()]
        return min((claim_and_seconds[1] if claim_and_seconds else 0 for claim_and_seconds in running), default=0)

    def take_back(self, executor: Executor) -> list[Claim]:
        """Takes from an executor what it has not begun, which is all that comes after what it is running. What came
        before that has ended, and is known from now on."""
        ended = self._board.read(executor.line)[1]
        # It says that a job failed before the board says that it ended.
        self._hear_all(executor)
        if executor.limit is None:
            self._answered(executor, [True] * (ended - executor.answered))
        if executor.limit is not None or not executor.claims:
            return []
        executor.limit, begun = self._board.stop_after_begun(executor.line)
        kept = max(begun - executor.answered, 0)
        taken = [claim for claim in islice(executor.claims, kept, None) if claim]
        executor.claims = deque([*islice(executor.claims, kept), *[None] * (len(executor.claims) - kept)])
        return taken

    def cut_off(self, executor: Executor, claim: Claim, reason: str) -> None:
        """Ends an executor and with it the job that it runs. When it is at another one by then, that is run again."""
        if not executor.is_killed:
            executor.doomed = executor.answered + executor.claims.index(claim) + 1, reason
            self.end(executor)

    def end(self, executor: Executor) -> None:
        """Ends an executor; what it runs is to be run again."""
        executor.is_killed = True
        self._kill(executor.pid)

    def lose(self, pid: int, reason: str) -> bool:
        """An executor has ended: what it had done is done, what it ran is cut off, and the rest is untouched.

        Returns whether it had ever begun a job.
        """
        executor = self.executors.pop(pid)
        self._hear_all(executor)
        begun, ended, _began_at = self._board.read(executor.line)
        if begun in executor.failed:
            # It had said so, and not yet written it on the board.
            ended = begun
        # Beyond the limit one that did not run counts as ended, too.
        surely_ended = ended if executor.limit is None else min(ended, executor.limit)
        self._answered(executor, [True] * (surely_ended - executor.answered))
        index = begun - executor.answered - 1
        if begun > ended and index < len(executor.claims) and (claim := executor.claims[index]):
            number, why = executor.doomed
            if number == begun or not executor.is_killed:
                self._outcomes.cut_off(claim, why or reason)
                executor.claims[index] = None
        numbered = enumerate(executor.claims, executor.answered + 1)
        self._outcomes.untouched([claim for number, claim in numbered if claim and number not in executor.failed])
        self._free_lines.append(executor.line)
        executor.connection.close()
        return begun > 0

    def _hear_all(self, executor: Executor) -> None:
        while select.select([executor.connection], [], [], 0)[0] and self.hear(executor):
            pass

    def _learn(self, executor: Executor, seconds: Sequence[float | None]) -> None:
        for claim, duration in zip(executor.claims, seconds, strict=False):
            if claim and duration is not None:
                self._outcomes.took(claim, duration)

    def _answered(self, executor: Executor, have_run: Sequence[bool]) -> None:
        """So many jobs more have ended, those that have run all well but for those that were said to have failed."""
        done: list[Claim] = []
        for has_run in have_run:
            executor.answered += 1
            claim = executor.claims.popleft()
            if executor.answered in executor.failed:
                executor.failed.remove(executor.answered)
            elif claim and has_run:
                done.append(claim)
            elif claim:
                self._outcomes.untouched([claim])
        if executor.limit is not None and not executor.claims:
            executor.limit = None
            self._board.lift(executor.line)
        self._outcomes.succeeded(done)

    def _send(self, executor: Executor, message: Told) -> None:
        executor.unsent += packed(message)
        self.send_the_rest(executor)
