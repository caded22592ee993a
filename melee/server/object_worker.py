"""An object worker as the server keeps it: its process, the socket it serves, and when it is needed next."""

from asyncio.subprocess import Process
from collections.abc import Sequence

from melee.project import Project
from melee.server.call_sockets import CallSockets
from melee.server.worker import Worker


class ObjectWorker(Worker):
    """Keeps one object worker alive.

    Args:
        sockets: where it is called. They stay open while no worker runs, and during a reload there are two: then only
            the current one of them, see `take_over`, decides whether callers are turned away.
    """

    name = "object worker"
    module = "melee.objects"

    def __init__(self, project: Project, sockets: CallSockets) -> None:
        super().__init__(project)
        self._sockets = sockets
        self._is_current = False
        self._cannot_serve = False

    def begin(self) -> None:
        self.take_over()
        super().begin()

    def take_over(self) -> None:
        """From now on it is meant by those who call; one that was loaded waited until its predecessor had ended."""
        self._is_current = True
        self._turn_away(self._cannot_serve)

    async def stop(self, grace_seconds: float) -> None:
        # Those who call from now on wait for the next one.
        self._turn_away(False)
        self._is_current = False
        await super().stop(grace_seconds)

    async def start(self) -> Process:
        if not self._is_current:
            # It waits for its predecessor again, and may well serve afterwards.
            self._cannot_serve = False
        return await super().start()

    def has_ended(self, again_in_seconds: float) -> None:
        if again_in_seconds:
            self._turn_away(True)

    def _options(self) -> dict[str, object]:
        options: dict[str, object] = {
            "--shard": self._sockets.shard.number,
            "--of": self._sockets.shard.of,
            "--listener": self._sockets.callers.fileno(),
        }
        if self._sockets.peers:
            options["--peers"] = self._sockets.peers.fileno()
        return options

    def _shared(self) -> Sequence[int]:
        return [listening.fileno() for listening in self._sockets.listening]

    def _listens(self) -> None:
        self._turn_away(False)

    def _turn_away(self, turns_away: bool) -> None:
        """After a start that came to nothing, and until it listens, nobody is to wait for it."""
        self._cannot_serve = turns_away
        if self._is_current:
            self._sockets.turn_away(turns_away)
