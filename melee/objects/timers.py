"""The timers of a host's objects: which are due, what it takes to fire one, and how it ends."""

from typing import NamedTuple

from melee import log
from melee.clock import Clock
from melee.errors import MeleeError
from melee.objects.commit import Batch
from melee.objects.loaded import LoadedObject
from melee.objects.open_objects import OpenObjects
from melee.objects.record import State
from melee.objects.registry import Registry
from melee.objects.request import ObjectRef

_REST_SECONDS = 1


class DueTimer(NamedTuple):
    """A timer whose time has come, by the object's own row."""

    loaded: LoadedObject
    state: State

    def fire(self) -> None:
        """Runs `on_timer`; whatever it raises, but for Ctrl-C, is kept as the object's last timer error."""
        error = ""
        try:
            self.loaded.instance.on_timer()  # type: ignore[attr-defined]
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # noqa: BLE001 - whatever a timer raises, SystemExit too, the worker goes on
            log.timer_failed(str(self.loaded.ref), raised, self._has_set_another())
            error = f"{type(raised).__name__}: {log.described(raised)[0]}"
        self.loaded.record.end_timer(self.state, error)

    def _has_set_another(self) -> bool:
        """Whether `on_timer` has set the next timer by now."""
        if self.loaded.is_lost:
            return False
        now = self.loaded.record.read()
        return now.due_at is not None and now.times_set != self.state.times_set


class Timers:
    """Finds what is due in the registry, and asks the objects themselves."""

    def __init__(self, registry: Registry, objects: OpenObjects, batch: Batch, clock: Clock) -> None:
        self._registry, self._objects, self._batch, self._clock = registry, objects, batch, clock
        self._rest_until = 0.0

    def next_wake_at(self) -> float | None:
        """When there is something to do, in epoch seconds; None when no timer is set."""
        wake_at = self._registry.next_wake_at()
        return None if wake_at is None else max(wake_at, self._rest_until)

    def due(self, at_most: int) -> list[ObjectRef]:
        """The objects whose timers may be due, the longest overdue first."""
        now, wake_at = self._clock.now(), self.next_wake_at()
        return [] if wake_at is None or wake_at > now else self._registry.due(now, at_most)

    def begin(self, ref: ObjectRef) -> DueTimer | None:
        """Loads the object; None when its timer is not due after all. Raises why it cannot be loaded."""
        self._registry.try_at(ref, self._clock.now())
        loaded = self._objects.find(ref)
        if loaded is None:
            self._registry.forget(ref)
            return None
        self._batch.touch(loaded)
        loaded.asked_at = self._registry.asks_at(ref)
        state = loaded.record.read()
        if state.due_at is None or state.due_at > self._clock.now():
            # The index was early; the next commit settles it.
            loaded.record.changed = True
            return None
        log.timer_fired(str(ref))
        return DueTimer(loaded, state)

    def put_off(self, ref: ObjectRef) -> None:
        """The object runs for somebody else. It is asked when a commit of that settles its row, or else soon."""
        until = self._clock.now() + _REST_SECONDS
        self._registry.put_off(ref, until)
        if loaded := self._objects.get(ref):
            loaded.asked_at, loaded.record.changed = until, True

    def rest(self, ref: ObjectRef, error: MeleeError) -> None:
        """The object cannot be had now. The registry spaces out the tries, if it could be written at all."""
        self._rest_until = self._clock.now() + _REST_SECONDS
        log.timer_waits(str(ref), error)
