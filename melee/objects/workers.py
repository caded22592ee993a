"""The owner of objects that several workers share: which of them a request goes to, and what their answers make."""

from collections.abc import Iterable, Mapping
from itertools import chain

import msgspec

from melee import shape
from melee.clock import Clock
from melee.objects.client import AnswerTo, Client
from melee.objects.request import Call, Count, Destroy, ListIds, Request, ref_of
from melee.objects.shard import Shard, shard_of, shards
from melee.project import Project


class Workers:
    """Sends a request about one object to its owner, and one about all objects of a class to everybody.

    Args:
        clients: by the number of their shard; of all shards, or of all but one's own.
        of: the number of shards.
    """

    def __init__(self, clients: Mapping[int, Client], of: int) -> None:
        self._clients, self._of = clients, of

    def ask(self, request: Request, answer: AnswerTo | None = None) -> bytes:
        """The answer of the owner, or of all together; raises what a `Client` raises."""
        if isinstance(request, Call | Destroy):
            return self._clients[shard_of(ref_of(request), self._of)].ask(request, answer)
        return merged(request, [client.ask(request) for client in self._clients.values()])

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


def merged(request: ListIds | Count, answers: Iterable[bytes]) -> bytes:
    """The answer of workers of which each knows its own objects only."""
    if isinstance(request, Count):
        return msgspec.json.encode(sum(map(shape.decode, answers)))
    return msgspec.json.encode(sorted(chain.from_iterable(map(shape.decode, answers))))


def workers_of(project: Project, workers: int, clock: Clock) -> Workers | Client:
    """The owner of an app's objects for a process that hosts none, such as a request child.

    Args:
        workers: how many run. What `melee.toml` says may be newer.
    """
    clients = [Client(shard.socket(project), clock) for shard in shards(workers)]
    return clients[0] if len(clients) == 1 else Workers(dict(enumerate(clients)), len(clients))


def peers_of(shard: Shard, project: Project, clock: Clock) -> Workers | None:
    """The other workers, as a worker's own objects ask them; None when there are no others."""
    others = [other for other in shards(shard.of) if other != shard]
    clients = {other.number: Client(other.peer_socket(project), clock) for other in others}
    return Workers(clients, shard.of) if others else None
