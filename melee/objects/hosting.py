"""From an app's folder to a host of its objects: its classes, its data, its clock."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import tzinfo
from pathlib import Path

from melee import clock
from melee.clock import Clock
from melee.errors import DefinitionError
from melee.objects.durable import Durable
from melee.objects.handles import render
from melee.objects.host import Host
from melee.objects.request import owned_by, underscored
from melee.objects.shard import Shard
from melee.objects.spec import ClassSpec
from melee.objects.workers import peers_of
from melee.project import Project, is_code_of

_ALL = Shard()


def classes_below(folder: Path) -> dict[str, type[Durable]]:
    """The durable classes that the loaded modules of the app in a folder define, by name.

    Raises:
        DefinitionError: two of them would share a name or a folder for their data.
    """
    classes: dict[str, type[Durable]] = {}
    folders: dict[str, type[Durable]] = {}
    for cls in _descendants(Durable):
        module = sys.modules.get(cls.__module__)
        if module is None or not is_code_of(folder, cls.__module__, module):
            continue
        if getattr(module, cls.__name__, None) is not cls:
            # Defined by a load before this one, or inside a function.
            continue
        other = folders.setdefault(underscored(cls.__name__), cls)
        if other is not cls:
            problem = f"{other.__module__}.{other.__name__} would share its data; give one of them another name"
            raise DefinitionError(f"{cls.__module__}.{cls.__name__}", problem)
        classes[cls.__name__] = cls
    return classes


def _descendants(cls: type[Durable]) -> Iterator[type[Durable]]:
    for child in cls.__subclasses__():
        yield child
        yield from _descendants(child)


@contextmanager
def hosted(
    project: Project,
    time: Clock,
    reached: Callable[[str], None] = lambda _point: None,
    zone: tzinfo | None = None,
    shard: Shard = _ALL,
    lock_seconds: float = 0,
) -> Iterator[Host]:
    """Inside, this process hosts the objects of a project that is loaded, or a shard of them: handles find the objects,
    `melee.now()` reads `time` in `zone` (default: the app's).

    Raises:
        AlreadyRunning: another process hosts them, and still does after `lock_seconds`.
    """
    classes = classes_below(project.folder)
    migrations, config = project.migrations / "objects", project.config.objects
    peers = peers_of(shard, project, time)
    host = Host(classes, project.data, migrations, time, config, reached, shard, peers, lock_seconds)
    try:
        with clock.installed(time, zone or project.config.zone), owned_by(host):
            yield host
    finally:
        host.close()
        if peers:
            peers.close()


def write_handles(project: Project, specs: Iterable[ClassSpec]) -> None:
    """Writes `.melee/objects.py`, when it says something else than these classes offer."""
    source = render(sorted(specs, key=lambda spec: (spec.module, spec.name)))
    file = project.handles_file
    if not file.is_file() or file.read_bytes() != source.encode():
        file.parent.mkdir(exist_ok=True)
        # Nobody reads one that a full disk or Ctrl-C has cut short.
        new = file.with_name(f"{file.name}.{os.getpid()}")
        try:
            new.write_text(source, encoding="utf-8")
            new.replace(file)
        except OSError as error:
            # A full disk does not say which file it has no room for.
            raise OSError(error.errno, error.strerror, str(file)) from error
        finally:
            new.unlink(missing_ok=True)
