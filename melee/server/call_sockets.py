"""The sockets on which objects are called, open as long as the server is there: a call that comes while its worker is
replaced, or asleep, waits for the next one instead of being refused."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from melee.objects.listener import listen
from melee.objects.shard import Shard, shards
from melee.project import Project


class CallSockets:
    """Where one object worker is called, and those that take its place.

    Args:
        shard: the objects it owns.
        callers: for request children.
        peers: for the app's other workers; None when there are no others.
    """

    def __init__(self, shard: Shard, callers: socket.socket, peers: socket.socket | None) -> None:
        self.shard, self.callers, self.peers = shard, callers, peers
        self._is_turning_away = False

    @property
    def listening(self) -> list[socket.socket]:
        return [self.callers, *filter(None, [self.peers])]

    def turn_away(self, turns_away: bool) -> None:
        """Whether callers are told at once that their calls never began, instead of waiting for a worker."""
        if turns_away == self._is_turning_away:
            return
        self._is_turning_away = turns_away
        loop = asyncio.get_running_loop()
        for listening in self.listening:
            if turns_away:
                loop.add_reader(listening.fileno(), _hang_up, listening)
            else:
                loop.remove_reader(listening.fileno())


def _hang_up(listening: socket.socket) -> None:
    with suppress(OSError):
        caller, _address = listening.accept()
        caller.close()


@contextmanager
def call_sockets(project: Project) -> Iterator[list[CallSockets]]:
    """Inside, there are the sockets of all workers of an app, made anew."""
    with ExitStack() as open_ones:

        def opened(path: Path) -> socket.socket:
            open_ones.callback(path.unlink, missing_ok=True)
            return open_ones.enter_context(listen(path))

        all_shards = shards(project.config.objects.workers)
        yield [
            CallSockets(
                shard,
                opened(shard.socket(project)),
                opened(shard.peer_socket(project)) if len(all_shards) > 1 else None,
            )
            for shard in all_shards
        ]
