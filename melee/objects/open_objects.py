"""The objects that are in memory now, the one used last at the end."""

from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path

from melee.clock import Clock
from melee.errors import ObjectUnavailable
from melee.objects.durable import Durable
from melee.objects.files import file_of
from melee.objects.loaded import LoadedObject, create_object, open_object
from melee.objects.request import ObjectRef, underscored
from melee.store.migrations import Migration, read_migrations


class OpenObjects:
    """Opens objects of an app's classes and remembers them.

    Args:
        classes: by name.
        folder: of all objects.
        migrations: the folder with one folder of migrations for each class; read once a class.
    """

    def __init__(self, classes: Mapping[str, type[Durable]], folder: Path, migrations: Path, clock: Clock) -> None:
        self._classes, self._folder, self._migrations, self._clock = classes, folder, migrations, clock
        self._open: OrderedDict[ObjectRef, LoadedObject] = OrderedDict()
        self._read: dict[str, list[Migration]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def get(self, ref: ObjectRef) -> LoadedObject | None:
        """The object, if it is in memory; it counts as used."""
        loaded = self._open.get(ref)
        if loaded:
            self._open.move_to_end(ref)
            loaded.used_at = self._clock.elapsed()
        return loaded

    def open(self, ref: ObjectRef, due_no_later_than: float | None) -> LoadedObject | None:
        """Opens the object from its file; None when it does not exist."""
        loaded = open_object(*self._needed_for(ref))
        if loaded:
            loaded.due_no_later_than = due_no_later_than
            self._keep(loaded)
        return loaded

    def create(self, ref: ObjectRef) -> LoadedObject:
        """Makes the object, up to its first commit."""
        loaded = create_object(*self._needed_for(ref))
        self._keep(loaded)
        return loaded

    def used_longest_ago(self) -> list[LoadedObject]:
        return list(self._open.values())

    def close(self, loaded: LoadedObject) -> None:
        """Forgets and closes an object."""
        if self._open.get(loaded.ref) is loaded:
            del self._open[loaded.ref]
        loaded.close()

    def _keep(self, loaded: LoadedObject) -> None:
        self._open[loaded.ref] = loaded
        loaded.used_at = self._clock.elapsed()

    def _needed_for(self, ref: ObjectRef) -> tuple[type[Durable], ObjectRef, Path, list[Migration], Clock]:
        cls = self._classes.get(ref.class_name)
        if cls is None:
            known = ", ".join(self._classes) or "none"
            raise ObjectUnavailable(str(ref), "*", f"this app has no durable class {ref.class_name}; it has {known}")
        folder = underscored(ref.class_name)
        if folder not in self._read:
            self._read[folder] = read_migrations(self._migrations / folder)
        return cls, ref, file_of(self._folder, ref), self._read[folder], self._clock
