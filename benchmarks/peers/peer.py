"""What is measured of a library of durable jobs: how it takes jobs, and how its workers run them."""

from contextlib import AbstractContextManager
from typing import Protocol

BATCH = 1000
"""How many jobs are enqueued at once in bulk."""


class Client(Protocol):
    """Enqueues on a connection of its own. Each job calls `marks.ran` with what it was given, and does nothing else."""

    def enqueue(self, sent_at: float) -> None:
        """Stores one job; returns when it is on disk."""

    def enqueue_many(self, jobs: int) -> None:
        """Stores so many jobs in one transaction."""

    def is_empty(self) -> bool:
        """Whether no job is left, running ones included."""

    def clear(self) -> None:
        """Removes all jobs and what is kept of those that are done."""


class Peer(Protocol):
    """A library with a database of its own.

    Attributes:
        worker: the command that runs its workers, until SIGTERM.
        environment: what that command finds in its environment besides what is there.
    """

    name: str
    worker: list[str]
    environment: dict[str, str]

    def client(self) -> AbstractContextManager[Client]: ...
