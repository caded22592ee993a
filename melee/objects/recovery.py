"""What a start owes to the way the last run ended: an index that agrees with the files again.

Each shard has a registry of its own. When the number of workers changes, so does the layout, and the registries of the
old one must never be believed again: what the new workers do is not in them. So a start deletes those of all other
layouts before it opens its own, and so before it changes any object. That needs no agreement with the workers of the
other layout, some of which may still serve, since the locks of their shards do not overlap with this one:

- One that serves goes on with its registry, which has no name any more. When it is started again, it finds none.
- Whoever finds none makes it from the files, once it holds the lock of its shard: nobody else changes them then.

A registry that cannot be deleted is an error, and the worker does not start.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from melee import log
from melee.errors import DatabaseError
from melee.objects.files import delete_file, every_file, file_of, make_folder, remove
from melee.objects.loaded import state_in
from melee.objects.record import State
from melee.objects.registry import Registry
from melee.objects.shard import Shard, shards


def open_registry(folder: Path, shard: Shard) -> Registry:
    """The settled registry of a shard's objects below `folder`; rebuilt from their files when it is missing or
    unreadable."""
    make_folder(folder)
    path = _registry_of(shard, folder)
    same_layout = {_registry_of(each, folder) for each in shards(shard.of)}
    for other in set(folder.glob("registry*.sqlite3")) - same_layout:
        remove(other)
    try:
        registry = Registry(path)
    except (Registry.OutOfDate, DatabaseError):
        delete_file(path)
        registry = Registry(path)
    if registry.is_new:
        rebuild(registry, folder, shard)
    settle_what_was_under_way(registry, folder)
    return registry


def _registry_of(shard: Shard, folder: Path) -> Path:
    return folder / shard.named("registry", ".sqlite3")


def rebuild(registry: Registry, folder: Path, shard: Shard) -> None:
    """Fills an empty registry from the files; an object whose file cannot be read is left out."""
    # The others belong to workers that may be writing to them.
    files = (file for file in every_file(folder) if shard.owns_file(folder, file))
    found = [(state.ref, state.due_at) for _file, state in _states(files) if state]
    registry.settle(found)
    registry.mark_filled()
    if found:
        log.registry_rebuilt(len(found))


def settle_what_was_under_way(registry: Registry, folder: Path) -> None:
    """Asks the file of each object whose creation, end or timer was being committed when the process ended. A row whose
    file cannot be read stays as early as it is, and the next start asks again."""
    under_way = {file_of(folder, ref): ref for ref in registry.unsettled()}
    for file, state in _states(under_way):
        if state:
            registry.settle([(state.ref, state.due_at)])
        else:
            delete_file(file)
            registry.forget(under_way[file])


def _states(files: Iterable[Path]) -> Iterator[tuple[Path, State | None]]:
    """What each file holds; one that cannot be read is named in the log and passed over."""
    for file in files:
        try:
            state = state_in(file)
        except DatabaseError as error:
            log.file_unreadable(str(file), error)
        else:
            yield file, state
