"""Holds an app's durable objects: runs one call at a time, fires timers, and commits before anything leaves."""

import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from melee import log, shape
from melee.clock import Clock
from melee.errors import DatabaseError, MeleeError, ObjectUnavailable
from melee.objects.commit import Batch, Outcome, Release
from melee.objects.durable import Durable
from melee.objects.loaded import LoadedObject
from melee.objects.open_objects import OpenObjects
from melee.objects.recovery import open_registry
from melee.objects.request import Call, Count, Destroy, ListIds, ObjectRef, Request, ref_of
from melee.objects.running import Running
from melee.objects.shard import Shard
from melee.objects.timers import Timers
from melee.objects.turn import Turn
from melee.objects.workers import Workers, merged
from melee.project import ObjectsConfig
from melee.store.lock import FolderLock

TIMERS_AT_ONCE = 16
_DEFAULTS = ObjectsConfig()
_ALL = Shard()


class Host:
    """The durable objects of one app, in this process.

    It is their owner for callers in the process (`ask`), and the engine of the object worker (`run`, `commit`).

    Args:
        classes: the app's classes by name.
        data: the app's data folder; locked while the host is open.
        migrations: holds a folder of migrations for each class.
        reached: called at each of `commit.COMMIT_POINTS`.
        shard: the objects that this host owns; default: all.
        peers: those who own the others.
        lock_seconds: how long to wait for a process that hosts the objects of this folder.

    Raises:
        AlreadyRunning: it still does.
    """

    def __init__(
        self,
        classes: Mapping[str, type[Durable]],
        data: Path,
        migrations: Path,
        clock: Clock,
        config: ObjectsConfig = _DEFAULTS,
        reached: Callable[[str], None] = lambda _point: None,
        shard: Shard = _ALL,
        peers: Workers | None = None,
        lock_seconds: float = 0,
    ) -> None:
        self._clock, self._config = clock, config
        self._lock = FolderLock(data, slots=shard.slots, wait_seconds=lock_seconds)
        self.folder = data / "objects"
        try:
            self._registry = open_registry(self.folder, shard)
        except BaseException:
            self._lock.release()
            raise
        self._shard, self._peers = shard, peers
        self.turn = Turn()
        """Code of the objects runs, and everything here is called, by a thread that has the turn. Most methods take it
        themselves; `run` and `commit` leave it to their caller, who wants it for a batch."""
        self._running = Running(self.turn, clock, self._before_sending)
        self._objects = OpenObjects(classes, self.folder, migrations, self._registry, self._running, clock)
        self._batch = Batch(self._registry, reached)
        self._timers = Timers(self._registry, self._objects, self._batch, clock)

    @property
    def waits_elsewhere(self) -> bool:
        """Whether an object waits for another worker. Any thread may ask, at any time."""
        return self._running.waits_elsewhere

    def ask(self, request: Request) -> bytes:
        """Runs a request of a caller in this process, makes it durable, and returns its answer or raises what became
        of it. What other workers own is asked of them."""
        with self._running.in_turn(request):
            self._commit_before_leaving(request)
            if not self._peers:
                return self._answer(request)
            if isinstance(request, ListIds | Count):
                return merged(request, [self._answer(request), self._running.ask_elsewhere(request, self._peers.ask)])
            if self._shard.owns(ref_of(request)):
                return self._answer(request)
            return self._running.ask_elsewhere(request, self._peers.ask)

    def serve_peer(self, request: Request, is_wanted: Callable[[], bool], release: Release) -> None:
        """Runs a request of another worker when its turn comes, as `run` does; `release` is called with its outcome
        while it is still this thread's turn."""
        chain = request.chain if isinstance(request, Call | Destroy) else ()
        with ExitStack() as turn:
            try:
                turn.enter_context(self._running.in_turn(request))
                turn.enter_context(self._running.on_behalf_of(chain))
                self._running.check_may_ask(request)
            except MeleeError as error:
                release(error)
                return
            # What runs is released once, there; once more would answer the request that comes next.
            self.run(request, release, is_wanted)
            self.commit()

    def run(self, request: Request, release: Release, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Runs a request about objects of this host, unless its caller has gone by the time it can begin; `release` is
        called with its outcome when that may leave, at the latest in `commit`."""
        if not self._can_begin(request, release) or not is_wanted():
            return
        if isinstance(request, Call):
            self._call(request, release)
            if self._batch.is_full:
                self.commit()
            return
        self.commit()
        try:
            release(shape.encode(self._about_objects(request), f"{request.class_name}.{request.method} result"))
        except MeleeError as error:
            release(error)

    def commit(self) -> None:
        """Makes durable what ran, releases its outcomes, and closes what is lost or more than `open_at_most`."""
        for loaded in self._batch.commit():
            if loaded not in self._running:
                self._objects.close(loaded)
        self._objects.close_beyond(self._config.open_at_most)

    def fire_due(self, at_most: int = TIMERS_AT_ONCE) -> list[ObjectRef]:
        """Fires timers that are due, the longest overdue first; returns the objects whose `on_timer` ran."""
        with self.turn:
            due = self._timers.due(at_most)
            if due:
                # Those who have been answered do not wait for a timer, which may take long.
                self.commit()
            fired = [ref for ref in due if self._fire(ref)]
            if due:
                self.commit()
            return fired

    def next_wake_at(self) -> float | None:
        """When `fire_due` has something to do next, in epoch seconds; None when no timer is set."""
        with self.turn:
            return self._timers.next_wake_at()

    def unload_idle(self) -> None:
        """Closes the objects that nobody called for `idle_seconds`."""
        with self.turn:
            while self.idle_in_seconds() <= 0 and (oldest := self._objects.used_longest_ago()):
                self._objects.close(oldest)

    def idle_in_seconds(self) -> float:
        """How soon `unload_idle` has something to do if nobody calls; infinite when nothing is in memory."""
        with self.turn:
            oldest = self._objects.used_longest_ago()
            return oldest.used_at + self._config.idle_seconds - self._clock.elapsed() if oldest else math.inf

    def unload(self, ref: ObjectRef) -> bool:
        """Closes one object, as idleness would; returns whether it was open."""
        with self.turn:
            loaded = self._objects.get(ref)
            if loaded:
                self._objects.close(loaded)
            return loaded is not None

    def close(self) -> None:
        """Commits, closes every object, and lets go of the data folder."""
        with self.turn:
            self.commit()
            while oldest := self._objects.used_longest_ago():
                self._objects.close(oldest)
            self._batch.close()
            self._registry.close()
            self._lock.release()

    def _commit_before_leaving(self, request: Request) -> None:
        """What an object asks of another leaves it, so what it wrote so far must be on disk first."""
        self._running.check_may_ask(request)
        self._commit_for_caller()

    def _before_sending(self, attempt: str) -> None:
        """The same for what an object sends out of the app."""
        self._running.check_may_send(attempt)
        self._commit_for_caller()

    def _commit_for_caller(self) -> None:
        caller = self._running.caller
        if caller:
            self._batch.touch(caller)
            self.commit()
            if caller.connection.lost:
                raise caller.connection.lost

    def _answer(self, request: Request) -> bytes:
        outcomes: list[Outcome] = []
        self.run(request, outcomes.append)
        self.commit()
        if isinstance(outcomes[0], MeleeError):
            raise outcomes[0]
        return outcomes[0]

    def _can_begin(self, request: Request, release: Release) -> bool:
        """Waits until nobody else's call runs on the object that this is about; what has run so far does not wait with
        it. False when that takes too long."""
        ref = ref_of(request)
        if isinstance(request, Call | Destroy) and self._running.is_busy(ref):
            self.commit()
            try:
                self._running.wait_for(ref, request.method)
            except MeleeError as error:
                release(error)
                return False
        return True

    def _call(self, call: Call, release: Release) -> None:
        try:
            ref = ref_of(call)
            loaded = self._objects.find(ref) or self._objects.create(ref)
            self._batch.touch(loaded)
            method = loaded.method_named(call.method)
        except MeleeError as error:
            release(error)
            return
        with log.of_request(call.request):
            outcome = self._running.perform(loaded, call.method, lambda: method(*shape.decode(call.arguments)))
        self._finish(loaded, call.method, outcome, release)

    def _about_objects(self, request: Destroy | ListIds | Count) -> Any:
        if isinstance(request, ListIds):
            return self._registry.ids(request.class_name)
        if isinstance(request, Count):
            return self._registry.count(request.class_name)
        return self._destroy(ref_of(request))

    def _fire(self, ref: ObjectRef) -> bool:
        try:
            if self._running.is_busy(ref):
                self._timers.put_off(ref)
                return False
            timer = self._timers.begin(ref)
        except MeleeError as error:
            self._timers.rest(ref, error)
            return False
        if timer is None:
            return False
        outcome = self._running.perform(timer.loaded, "on_timer", timer.fire)
        self._finish(timer.loaded, "on_timer", outcome, lambda _outcome: None)
        return True

    def _finish(self, loaded: LoadedObject, method: str, outcome: Outcome, release: Release) -> None:
        """Queues the outcome for the commit; commits at once when the object cannot go on as it is."""
        if loaded.is_lost and isinstance(outcome, MeleeError):
            # This caller is told what the method raised, those before it that what they wrote is undone.
            release(outcome)
        else:
            self._batch.add(loaded, method, outcome, release)
        self._batch.touch(loaded)
        if loaded.is_lost:
            self.commit()
        elif loaded.ends_after_call:
            self._end(loaded)

    def _destroy(self, ref: ObjectRef) -> bool:
        loaded = self._objects.find(ref)
        if loaded is None:
            return False
        if loaded in self._running:
            loaded.ends_after_call = True
            return True
        self._end(loaded)
        if loaded.is_lost:
            raise ObjectUnavailable(str(ref), "destroy", str(loaded.connection.lost))
        return True

    def _end(self, loaded: LoadedObject) -> None:
        """Destroys an object; it is lost, and goes on to exist, when that cannot be committed."""
        try:
            loaded.record.mark_destroyed()
        except DatabaseError as error:
            loaded.connection.give_up(error)
        self._batch.touch(loaded)
        self.commit()
        if not loaded.is_lost:
            self._objects.delete(loaded)
