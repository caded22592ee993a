"""Holds an app's durable objects: runs one call at a time, fires timers, and commits before anything leaves."""

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from melee import log, shape
from melee.clock import Clock
from melee.errors import MeleeError, ObjectUnavailable, described
from melee.objects.commit import Batch, Outcome, Release
from melee.objects.durable import Durable
from melee.objects.files import delete_file
from melee.objects.loaded import LoadedObject
from melee.objects.open_objects import OpenObjects
from melee.objects.record import State
from melee.objects.recovery import open_registry
from melee.objects.request import CALL_SECONDS, Call, Count, Destroy, ListIds, ObjectRef, Request, ref_of
from melee.objects.running import Running
from melee.objects.shard import Shard
from melee.project import ObjectsConfig
from melee.store.lock import FolderLock

TIMERS_AT_ONCE = 16
_REST_SECONDS = 1
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
        self._running = Running()
        self._objects = OpenObjects(classes, self.folder, migrations, self._registry, self._running, clock)
        self._batch = Batch(self._registry, reached)
        self._turn = threading.RLock()
        self._timers_rest_until = 0.0

    def ask(self, request: Request) -> bytes:
        """Runs a request of a caller in this process, makes it durable, and returns its answer or raises what became
        of it."""
        with self._my_turn(request):
            self._commit_before_leaving(request)
            outcomes: list[Outcome] = []
            self.run(request, outcomes.append)
            self.commit()
            if isinstance(outcomes[0], MeleeError):
                raise outcomes[0]
            return outcomes[0]

    def run(self, request: Request, release: Release) -> None:
        """Runs a request; `release` is called with its outcome when that may leave, at the latest in `commit`."""
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
        if not self._running.caller:
            self._objects.close_beyond(self._config.open_at_most)

    def fire_due(self, at_most: int = TIMERS_AT_ONCE) -> list[ObjectRef]:
        """Fires timers that are due, the longest overdue first; returns the objects whose `on_timer` ran."""
        with self._turn:
            now, wake_at = self._clock.now(), self.next_wake_at()
            if wake_at is None or wake_at > now:
                return []
            fired = [ref for ref in self._registry.due(now, at_most) if self._fire(ref)]
            self.commit()
            return fired

    def next_wake_at(self) -> float | None:
        """When `fire_due` has something to do next, in epoch seconds; None when no timer is set."""
        with self._turn:
            wake_at = self._registry.next_wake_at()
            return None if wake_at is None else max(wake_at, self._timers_rest_until)

    def unload_idle(self) -> None:
        """Closes the objects that nobody called for `idle_seconds`."""
        with self._turn:
            while self.idle_in_seconds() <= 0 and (oldest := self._objects.used_longest_ago()):
                self._objects.close(oldest)

    def idle_in_seconds(self) -> float:
        """How soon `unload_idle` has something to do if nobody calls; infinite when nothing is in memory."""
        with self._turn:
            oldest = self._objects.used_longest_ago()
            return oldest.used_at + self._config.idle_seconds - self._clock.elapsed() if oldest else math.inf

    def unload(self, ref: ObjectRef) -> bool:
        """Closes one object, as idleness would; returns whether it was open."""
        with self._turn:
            loaded = self._objects.get(ref)
            if loaded:
                self._objects.close(loaded)
            return loaded is not None

    def close(self) -> None:
        """Commits, closes every object, and lets go of the data folder."""
        with self._turn:
            self.commit()
            while oldest := self._objects.used_longest_ago():
                self._objects.close(oldest)
            self._batch.close()
            self._registry.close()
            self._lock.release()

    @contextmanager
    def _my_turn(self, request: Request) -> Iterator[None]:
        if not self._turn.acquire(timeout=CALL_SECONDS):
            problem = f"its turn did not come within {CALL_SECONDS} s"
            raise ObjectUnavailable(str(ref_of(request)), request.method, problem)
        try:
            yield
        finally:
            self._turn.release()

    def _commit_before_leaving(self, request: Request) -> None:
        """What an object asks of another leaves it, so what it wrote so far must be on disk first."""
        self._running.check_may_ask(request)
        caller = self._running.caller
        if caller:
            self._batch.touch(caller)
            self.commit()
            if caller.connection.lost:
                raise caller.connection.lost

    def _call(self, call: Call, release: Release) -> None:
        try:
            ref = ref_of(call)
            loaded = self._objects.find(ref) or self._objects.create(ref)
            self._batch.touch(loaded)
            method = _method_of(loaded, call)
        except MeleeError as error:
            release(error)
            return
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
            self._registry.try_at(ref, self._clock.now())
            loaded = self._objects.find(ref)
            if loaded is None:
                self._registry.forget(ref)
                return False
            self._batch.touch(loaded)
            loaded.asked_at = self._registry.asks_at(ref)
            timer = loaded.record.read()
        except MeleeError as error:
            # The registry spaces out the tries, if it could be written at all.
            self._timers_rest_until = self._clock.now() + _REST_SECONDS
            log.timer_waits(str(ref), error)
            return False
        if timer.due_at is None or timer.due_at > self._clock.now():
            # The index was early; the next commit settles it.
            loaded.record.changed = True
            return False
        log.timer_fired(str(ref))
        outcome = self._running.perform(loaded, "on_timer", lambda: self._on_timer(loaded, timer))
        self._finish(loaded, "on_timer", outcome, lambda _outcome: None)
        return True

    def _on_timer(self, loaded: LoadedObject, timer: State) -> None:
        error = ""
        try:
            loaded.instance.on_timer()  # type: ignore[attr-defined]
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # noqa: BLE001 - whatever a timer raises, SystemExit too, the worker goes on
            log.timer_failed(str(loaded.ref), raised)
            error = f"{type(raised).__name__}: {described(raised)[0]}"
        loaded.record.end_timer(timer, error)

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
        loaded.record.mark_destroyed()
        self._batch.touch(loaded)
        self.commit()
        if not loaded.is_lost:
            self._objects.close(loaded)
            delete_file(loaded.connection.path)
            self._registry.forget(loaded.ref)


def _method_of(loaded: LoadedObject, call: Call) -> Callable[..., Any]:
    known = type(loaded.instance).spec.method_names
    if call.method not in known:
        problem = f"the class has no such method; it has {', '.join(sorted(known))}"
        raise ObjectUnavailable(str(loaded.ref), call.method, problem)
    method: Callable[..., Any] = getattr(loaded.instance, call.method)
    return method
