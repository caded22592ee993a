"""What a start owes to the way the last run ended: an index that agrees with the files again."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from melee import log
from melee.errors import DatabaseError
from melee.objects.files import delete_file, every_file, file_of, make_folder
from melee.objects.loaded import state_in
from melee.objects.record import State
from melee.objects.registry import Registry


def open_registry(folder: Path) -> Registry:
    """The settled registry of the objects below `folder`; rebuilt from their files when it is missing or unreadable."""
    make_folder(folder)
    path = folder / "registry.sqlite3"
    try:
        registry = Registry(path)
    except (Registry.OutOfDate, DatabaseError):
        delete_file(path)
        registry = Registry(path)
    if registry.is_new:
        rebuild(registry, folder)
    settle_what_was_under_way(registry, folder)
    return registry


def rebuild(registry: Registry, folder: Path) -> None:
    """Fills an empty registry from the files; an object whose file cannot be read is left out."""
    found = [(state.ref, state.due_at) for _file, state in _states(every_file(folder)) if state]
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
