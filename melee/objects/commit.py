"""Commit what ran, then release what waited for it: the one place where a write becomes a promise.

The order is the guarantee. Whatever the moment at which the process dies, nothing that was released is missing from
the files, and no timer is missing from the registry.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from melee import log, shape
from melee.errors import DatabaseError, DatabaseFull, MeleeError, ObjectUnavailable, OutcomeUnknown
from melee.objects.loaded import LoadedObject
from melee.objects.record import State
from melee.objects.registry import Registry

COMMIT_POINTS = ("ran", "index written", "object committed", "batch committed", "released", "index settled")
"""The moments between which a process can die, in their order; `object committed` comes once for each object."""

Outcome = bytes | MeleeError
"""The JSON text of what a method returned, or what became of the call instead."""

Release = Callable[[Outcome], None]

_COMMITS_AT_ONCE = 16
_OUTCOME_BYTES_AT_MOST = shape.BYTES_AT_MOST


@dataclass
class Waiting:
    """An outcome that may leave when the object it comes from is on disk."""

    loaded: LoadedObject
    method: str
    outcome: Outcome
    release: Release


class Batch:
    """What ran since the last commit.

    Args:
        reached: called at each of `COMMIT_POINTS`; a crash test ends the process there.
    """

    def __init__(self, registry: Registry, reached: Callable[[str], None]) -> None:
        self._registry = registry
        self._reached = reached
        self._waiting: list[Waiting] = []
        self._outcome_bytes = 0
        self._touched: dict[LoadedObject, None] = {}
        self._pool = ThreadPoolExecutor(_COMMITS_AT_ONCE, thread_name_prefix="melee-commit")

    def touch(self, loaded: LoadedObject) -> None:
        """This object may have something to commit."""
        self._touched[loaded] = None

    def add(self, loaded: LoadedObject, method: str, outcome: Outcome, release: Release) -> None:
        self.touch(loaded)
        self._waiting.append(Waiting(loaded, method, outcome, release))
        if isinstance(outcome, bytes):
            self._outcome_bytes += len(outcome)

    @property
    def is_full(self) -> bool:
        """What waits to be released takes so much memory that it should wait no longer."""
        return self._outcome_bytes > _OUTCOME_BYTES_AT_MOST

    def commit(self) -> list[LoadedObject]:
        """Makes everything durable that ran, then lets its outcomes go.

        An object whose commit fails keeps nothing of the batch and its callers are told so; the others are not
        affected. Returns the objects that lost their writes, to be dropped.
        """
        touched, self._touched = list(self._touched), {}
        waiting, self._waiting, self._outcome_bytes = self._waiting, [], 0
        if not touched:
            return []
        self._reached("ran")
        changed = self._changed(touched)
        self._expect(changed)
        self._reached("index written")
        self._commit_all([loaded for loaded in touched if loaded.connection.in_transaction])
        self._reached("batch committed")
        for entry in waiting:
            entry.release(_outcome_after_commit(entry))
        self._reached("released")
        self._settle({loaded: state for loaded, state in changed.items() if not loaded.is_lost})
        self._reached("index settled")
        return [loaded for loaded in touched if loaded.is_lost]

    def close(self) -> None:
        self._pool.shutdown()

    def _changed(self, touched: list[LoadedObject]) -> dict[LoadedObject, State]:
        changed = {}
        for loaded in touched:
            if loaded.record.changed and not loaded.is_lost:
                try:
                    changed[loaded] = loaded.record.read()
                except DatabaseError as error:
                    loaded.connection.give_up(error)
        return changed

    def _expect(self, changed: dict[LoadedObject, State]) -> None:
        """Writes to the index, ahead of the objects, what would otherwise be found too late."""
        ahead = {loaded: state for loaded, state in changed.items() if _must_be_known_before(loaded, state)}
        if not ahead:
            return
        try:
            self._registry.expect((loaded.ref, state.due_at) for loaded, state in ahead.items())
        except DatabaseError as error:
            for loaded in ahead:
                loaded.connection.give_up(error)

    def _commit_all(self, open_objects: list[LoadedObject]) -> None:
        if len(open_objects) == 1:
            self._commit_one(open_objects[0])
        else:
            # Each commit waits for the disk; threads wait together, each with a share, since handing over costs too.
            shares = [open_objects[first::_COMMITS_AT_ONCE] for first in range(_COMMITS_AT_ONCE)]
            list(self._pool.map(self._commit_share, filter(None, shares)))

    def _commit_share(self, share: list[LoadedObject]) -> None:
        for loaded in share:
            self._commit_one(loaded)

    def _commit_one(self, loaded: LoadedObject) -> None:
        try:
            loaded.connection.commit()
        except DatabaseError as error:
            log.commit_failed(str(loaded.ref), error)
            loaded.commit_failed = True
            loaded.connection.give_up(error)
        self._reached("object committed")

    def _settle(self, changed: dict[LoadedObject, State]) -> None:
        for loaded in changed:
            loaded.is_new = False
        # A destroyed object stays unsettled until its file is deleted.
        settled = {loaded: state.due_at for loaded, state in changed.items() if not state.destroyed}
        if not settled:
            return
        try:
            self._registry.settle((loaded.ref, due_at) for loaded, due_at in settled.items())
        except DatabaseError as error:
            # The index stays early, which is allowed, and is settled by a later commit.
            log.index_not_settled(error)
            return
        for loaded, due_at in settled.items():
            loaded.record.changed, loaded.asked_at = False, due_at


def _outcome_after_commit(entry: Waiting) -> Outcome:
    """The outcome of a call, or, when the writes of its object are lost, what that means for its caller."""
    error = entry.loaded.connection.lost
    if error is None:
        return entry.outcome
    name, method = str(entry.loaded.ref), entry.method
    if isinstance(error, DatabaseFull) or not entry.loaded.commit_failed:
        return ObjectUnavailable(name, method, f"what it wrote was undone: {error}")
    # The disk may hold the commit although it reported an error.
    return OutcomeUnknown(name, method, f"its commit failed: {error}")


def _must_be_known_before(loaded: LoadedObject, state: State) -> bool:
    is_earlier = state.due_at is not None and (loaded.asked_at is None or state.due_at < loaded.asked_at)
    return loaded.is_new or state.destroyed or is_earlier
