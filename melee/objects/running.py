"""The objects whose code is running now, and who waits for whom: the one called first, the one it called, and so on."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from melee import log, shape
from melee.clock import Clock
from melee.errors import (
    Deadlock,
    ObjectCallError,
    ObjectUnavailable,
    Overloaded,
    ShapeError,
    TransactionOpen,
    described,
)
from melee.objects.client import AnswerTo
from melee.objects.commit import Outcome
from melee.objects.loaded import LoadedObject
from melee.objects.request import CALL_SECONDS, Call, Destroy, ObjectRef, Request, ref_of
from melee.objects.turn import Turn

CHAIN_AT_MOST = 100
"""How many objects may wait for each other over workers; each keeps a thread."""

AskElsewhere = Callable[[Request, AnswerTo], bytes]


@dataclass(eq=False)
class Chain:
    """Objects of which each waits for the next: first those of other workers, then those here, whose code runs in one
    thread. The last one runs, or waits for the object `waits_for`, here or, with `answer`, in another worker."""

    elsewhere: tuple[str, ...] = ()
    here: list[LoadedObject] = field(default_factory=list)
    waits_for: str = ""
    answer: AnswerTo | None = None

    @property
    def names(self) -> list[str]:
        return [*self.elsewhere, *(str(loaded.ref) for loaded in self.here)]

    @property
    def is_waiting(self) -> bool:
        return bool(self.waits_for) and not (self.answer and self.answer.has_come)


class _OfThisThread(threading.local):
    def __init__(self) -> None:
        self.chain = Chain()


class Running:
    """The chains of one host; each method is called by a thread that has the turn.

    A call that would wait for itself is refused as far as this worker can see: in its own chain, wherever the objects
    of that are, and in the chains that pass here. What no worker sees whole, such as a circle of three calls that
    began at the same moment in three workers, ends by `CallTimeout`.
    """

    def __init__(self, turn: Turn, clock: Clock) -> None:
        self._turn, self._clock = turn, clock
        self._mine = _OfThisThread()
        self._chains: list[Chain] = []
        self._put_off: list[threading.Event] = []

    def __contains__(self, loaded: LoadedObject) -> bool:
        return any(loaded in chain.here for chain in self._chains)

    @property
    def caller(self) -> LoadedObject | None:
        """The object whose code is running in this thread; None when the next call comes from outside."""
        here = self._mine.chain.here
        return here[-1] if here else None

    @property
    def waits_elsewhere(self) -> bool:
        """Whether an object of this host waits for another worker. Any thread may ask."""
        return any(chain.answer for chain in list(self._chains))

    @contextmanager
    def in_turn(self, request: Request) -> Iterator[None]:
        """Inside, it is this thread's turn; raises `ObjectUnavailable` when that does not come in time."""
        if not self._turn.take(CALL_SECONDS):
            raise _too_late(ref_of(request), request.method)
        try:
            yield
        finally:
            self._turn.end()

    @contextmanager
    def on_behalf_of(self, elsewhere: tuple[str, ...]) -> Iterator[None]:
        """Inside, objects of other workers wait for what this thread runs."""
        before, self._mine.chain = self._mine.chain, Chain(elsewhere)
        try:
            yield
        finally:
            self._mine.chain = before

    def check_may_ask(self, request: Request) -> None:
        """Refuses what the running object must not ask for: a call that would wait for itself, or anything at all from
        inside a transaction, whose writes cannot be on disk before it leaves."""
        ref, chain = ref_of(request), self._mine.chain.names
        if isinstance(request, Call) and str(ref) in chain:
            raise Deadlock(str(ref), request.method, [*chain, str(ref)])
        if self.caller and self.caller.connection.transactions_open:
            raise TransactionOpen(str(self.caller.ref), f"{ref}.{request.method}")

    def is_busy(self, ref: ObjectRef) -> bool:
        """Whether the object runs for somebody else, so that what this thread asks of it has to wait."""
        if not self._chains:
            return False
        mine = self._mine.chain
        others = (loaded.ref for chain in self._chains if chain is not mine for loaded in chain.here)
        return ref in others and str(ref) not in mine.elsewhere

    def wait_for(self, ref: ObjectRef, method: str) -> None:
        """Gives up the turn until the object has ended what it runs for others.

        Raises:
            Deadlock: it waits for this very call.
            ObjectUnavailable: it does not end in time.
        """
        ends_at = self._clock.elapsed() + CALL_SECONDS
        while self.is_busy(ref):
            self._check_circle(str(ref), method)
            ended = threading.Event()
            self._put_off.append(ended)
            with self._waiting_for(str(ref)), self._turn.given_up():
                # Whatever ends wakes it; the time of this wait goes on.
                is_in_time = ended.wait(ends_at - self._clock.elapsed())
            if not is_in_time:
                raise _too_late(ref, method)

    def ask_elsewhere(self, request: Request, ask: AskElsewhere) -> bytes:
        """Sends a request to another worker, with the chain that will wait for it, and gives up the turn until the
        answer is there.

        Raises:
            Deadlock: the answer would wait for this chain.
            Overloaded: the chain is as long as one may be.
            ObjectError: from `ask`.
        """
        ref, answer, waits_for = ref_of(request), AnswerTo(), ""
        if len(self._mine.chain.names) >= CHAIN_AT_MOST:
            problem = f"{CHAIN_AT_MOST} objects wait for each other already"
            raise Overloaded(str(ref), request.method, problem)
        if isinstance(request, Call):
            self._check_circle(str(ref), request.method)
        if isinstance(request, Call | Destroy):
            request, waits_for = replace(request, chain=tuple(self._mine.chain.names)), str(ref)
        with self._waiting_for(waits_for, answer), self._turn.given_up():
            return ask(request, answer)

    def perform(self, loaded: LoadedObject, method: str, run: Callable[[], Any]) -> Outcome:
        """Runs code of an object; whatever happens becomes an outcome, but for Ctrl-C."""
        name = str(loaded.ref)
        self._begin(loaded)
        try:
            value = run()
        except KeyboardInterrupt:
            raise
        except Deadlock as error:
            return error
        except BaseException as error:  # noqa: BLE001 - a method that raises SystemExit must not end the worker
            log.call_failed(name, method, error)
            raised = ObjectCallError(name, method, type(error).__name__, *described(error))
            raised.__cause__ = error
            return raised
        finally:
            self._end()
        try:
            return shape.encode(value, f"{loaded.ref.class_name}.{method} result")
        except ShapeError as error:
            return error

    def _begin(self, loaded: LoadedObject) -> None:
        chain = self._mine.chain
        if not chain.here:
            self._chains.append(chain)
        chain.here.append(loaded)

    def _end(self) -> None:
        chain = self._mine.chain
        chain.here.pop()
        if not chain.here:
            self._chains.remove(chain)
        while self._put_off:
            self._put_off.pop().set()

    @contextmanager
    def _waiting_for(self, name: str, answer: AnswerTo | None = None) -> Iterator[None]:
        chain = self._mine.chain
        is_unknown = chain not in self._chains
        if is_unknown:
            self._chains.append(chain)
        chain.waits_for, chain.answer = name, answer
        try:
            yield
        finally:
            chain.waits_for, chain.answer = "", None
            if is_unknown:
                self._chains.remove(chain)

    def _check_circle(self, name: str, method: str) -> None:
        """Refuses to wait for an object that waits, maybe by way of others, for one of this thread's chain."""
        mine = self._mine.chain
        names, ways, seen = mine.names, [[name]], {mine}
        for way in ways:
            for chain in self._chains:
                known = chain.names
                if chain in seen or way[-1] not in known or not chain.is_waiting:
                    continue
                seen.add(chain)
                further = [*way, *known[known.index(way[-1]) + 1 :], chain.waits_for]
                if chain.waits_for in names:
                    raise Deadlock(name, method, [*names, *further])
                ways.append(further)


def _too_late(ref: ObjectRef, method: str) -> ObjectUnavailable:
    return ObjectUnavailable(str(ref), method, f"its turn did not come within {CALL_SECONDS} s")
