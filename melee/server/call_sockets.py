"""The sockets on which objects are called, open as long as the server is there: a call that comes while its worker is
replaced, or asleep, waits for the next one instead of being refused."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from melee.objects.listener import listen
from melee.objects.shard import Shard, shards
from melee.project import Project


@dataclass(frozen=True)
class CallSockets:
    """Where one object worker is called.

    Args:
        shard: the objects it owns.
        callers: for request children.
        peers: for the app's other workers; None when there are no others.
    """

    shard: Shard
    callers: socket.socket
    peers: socket.socket | None

    @property
    def listening(self) -> list[socket.socket]:
        return [self.callers, *filter(None, [self.peers])]


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
