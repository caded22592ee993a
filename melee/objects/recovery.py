"""What a start owes to the way the last run ended: an index that agrees with the files again."""

from pathlib import Path

from melee import log
from melee.errors import DatabaseError
from melee.objects.files import delete_file, every_file, file_of, make_folder
from melee.objects.loaded import state_in
from melee.objects.registry import Due, Registry


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
    """Fills an empty registry from the files. A file that cannot be read is named in the log and left out."""
    found: list[Due] = []
    for file in every_file(folder):
        try:
            state = state_in(file)
        except DatabaseError as error:
            log.file_unreadable(str(file), error)
            continue
        if state:
            found.append((state.ref, state.due_at))
    registry.settle(found)
    registry.mark_filled()
    if found:
        log.registry_rebuilt(len(found))


def settle_what_was_under_way(registry: Registry, folder: Path) -> None:
    """Asks the file of each object whose creation, end or timer was being committed when the process ended."""
    for ref in registry.unsettled():
        file = file_of(folder, ref)
        try:
            state = state_in(file)
        except DatabaseError as error:
            # Its row stays as early as it is, and the next start asks again.
            log.file_unreadable(str(file), error)
            continue
        if state:
            registry.settle([(ref, state.due_at)])
        else:
            delete_file(file)
            registry.forget(ref)
