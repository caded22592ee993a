"""The objects that are in memory now, and how one gets there: found in its file, or created by its first call."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

from melee import log
from melee.clock import Clock
from melee.errors import DatabaseError, MeleeError, MigrationError, ObjectUnavailable
from melee.objects.durable import Durable
from melee.objects.files import delete_file, file_of
from melee.objects.loaded import LoadedObject, create_object, open_object
from melee.objects.registry import Registry
from melee.objects.request import ObjectRef, underscored
from melee.objects.running import Running
from melee.store.migrations import Migration, read_migrations


class OpenObjects:
    """Opens objects of an app's classes and remembers them, the one used last at the end.

    Args:
        classes: by name.
        folder: of all objects.
        migrations: the folder with one folder of migrations for each class; read once a class, and again after a
            failure.

    Raises:
        ObjectUnavailable: from `find` and `create`, when the class or the file cannot be had.
        MigrationError: when the object's schema cannot be brought up to date.
        ObjectCallError: when the class's own `__init__` or `setup` raises.
    """

    def __init__(
        self,
        classes: Mapping[str, type[Durable]],
        folder: Path,
        migrations: Path,
        registry: Registry,
        running: Running,
        clock: Clock,
    ) -> None:
        self._classes, self._folder, self._migrations = classes, folder, migrations
        self._registry, self._running, self._clock = registry, running, clock
        self._open: OrderedDict[ObjectRef, LoadedObject] = OrderedDict()
        self._read: dict[str, list[Migration]] = {}

    def get(self, ref: ObjectRef) -> LoadedObject | None:
        """The object, if it is in memory."""
        return self._open.get(ref)

    def find(self, ref: ObjectRef) -> LoadedObject | None:
        """The object, opened if need be, and used now; None when it does not exist."""
        loaded = self._open.get(ref)
        if loaded is None:
            with self._opening(ref):
                loaded = open_object(*self._needed_for(ref))
            if loaded is None:
                return None
            loaded.asked_at = self._registry.asks_at(ref)
            # The object's own row decides; the next commit sets an index right that says something else.
            loaded.record.changed = loaded.record.read().due_at != self._registry.due_no_later_than(ref)
            self._start(loaded)
        self._open.move_to_end(ref)
        loaded.used_at = self._clock.elapsed()
        return loaded

    def create(self, ref: ObjectRef) -> LoadedObject:
        """Makes an object that does not exist and runs its `setup`, up to its first commit."""
        with self._opening(ref):
            loaded = create_object(*self._needed_for(ref))
        self._start(loaded)
        loaded.used_at = self._clock.elapsed()
        return loaded

    def used_longest_ago(self) -> LoadedObject | None:
        """The one in memory that has waited longest for a call; None when all of them run, or none is in memory."""
        return next((loaded for loaded in self._open.values() if loaded not in self._running), None)

    def close_beyond(self, open_at_most: int) -> None:
        """Closes those that have waited longest, until no more than `open_at_most` are left, or all of them run."""
        while len(self._open) > open_at_most and (oldest := self.used_longest_ago()):
            self.close(oldest)

    def close(self, loaded: LoadedObject) -> None:
        """Forgets and closes an object."""
        if self._open.get(loaded.ref) is loaded:
            del self._open[loaded.ref]
        loaded.close()

    def delete(self, loaded: LoadedObject) -> None:
        """Closes an object whose end is on disk, and deletes its file."""
        self.close(loaded)
        delete_file(loaded.connection.path)
        try:
            self._registry.forget(loaded.ref)
        except DatabaseError as error:
            # The row stays unsettled until the next start, which finds no file.
            log.index_not_settled(error)

    def _start(self, loaded: LoadedObject) -> None:
        """Runs what the class wants to run before the first call. For a new object that is one transaction, so that it
        cannot ask other objects, which would commit it, before its `setup` has ended."""
        creation = loaded.instance.storage.transaction() if loaded.is_new else nullcontext()
        try:
            with creation:
                self._perform(loaded, "__init__", lambda: type(loaded.instance).__init__(loaded.instance))
                if loaded.is_new:
                    self._perform(loaded, "setup", loaded.instance.setup)
        except MeleeError:
            loaded.close()
            raise
        self._open[loaded.ref] = loaded

    def _perform(self, loaded: LoadedObject, method: str, run: Callable[[], None]) -> None:
        outcome = self._running.perform(loaded, method, run)
        if isinstance(outcome, MeleeError):
            raise outcome

    def _needed_for(self, ref: ObjectRef) -> tuple[type[Durable], ObjectRef, Path, list[Migration], Clock]:
        cls = self._classes.get(ref.class_name)
        if cls is None:
            known = ", ".join(self._classes) or "none"
            raise ObjectUnavailable(str(ref), "*", f"this app has no durable class {ref.class_name}; it has {known}")
        folder = underscored(ref.class_name)
        if folder not in self._read:
            self._read[folder] = read_migrations(self._migrations / folder)
        return cls, ref, file_of(self._folder, ref), self._read[folder], self._clock

    @contextmanager
    def _opening(self, ref: ObjectRef) -> Iterator[None]:
        try:
            yield
        except MigrationError:
            # The next call reads the files again: by then they may be mended.
            self._read.pop(underscored(ref.class_name), None)
            raise
        except OSError as error:
            # What the file system refuses concerns this one object, whose call has not begun.
            raise ObjectUnavailable(str(ref), "*", f"its file cannot be opened: {error}") from error
