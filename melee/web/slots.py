"""How many requests are served at once, and who waits for that."""

import asyncio
import contextlib
from collections import deque


class BacklogFull(Exception):
    """So many wait already that this one would wait too long."""


class Slots:
    """At most `at_most` are taken at a time; the others wait, in their order, at most `backlog` of them."""

    def __init__(self, at_most: int, backlog: int) -> None:
        self._at_most, self._backlog = at_most, backlog
        self._taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def resize(self, at_most: int, backlog: int) -> None:
        """Holds from now on; what is taken stays taken."""
        self._at_most, self._backlog = at_most, backlog
        self._hand_out()

    async def take(self) -> None:
        """Waits for a slot, which is given back with `give_back`; raises `BacklogFull` instead of waiting in vain."""
        if self._taken < self._at_most:
            self._taken += 1
            return
        if len(self._waiting) >= self._backlog:
            raise BacklogFull
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                # It had its turn already and cannot use it.
                self.give_back()
            raise
        finally:
            with contextlib.suppress(ValueError):
                self._waiting.remove(turn)

    def give_back(self) -> None:
        self._taken -= 1
        self._hand_out()

    def _hand_out(self) -> None:
        while self._waiting and self._taken < self._at_most:
            turn = self._waiting.popleft()
            if not turn.cancelled():
                self._taken += 1
                turn.set_result(None)
