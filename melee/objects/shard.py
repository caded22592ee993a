"""Who owns an object, where several workers share the objects of an app: the one place where that is decided.

Every object has one of 1,024 slots, for ever; it follows from where its file lies. A worker owns a range of them and
locks that range of the data folder, so that workers of different layouts keep each other out exactly where both would
own an object.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from melee.objects.files import place_of
from melee.objects.request import ObjectRef
from melee.project import Project

SLOTS = 1024


@dataclass(frozen=True)
class Shard:
    """The objects of one worker, of `of` workers that are counted from 0. By default all objects."""

    number: int = 0
    of: int = 1

    @property
    def slots(self) -> range:
        return range(self.number * SLOTS // self.of, (self.number + 1) * SLOTS // self.of)

    def owns(self, ref: ObjectRef) -> bool:
        return self.of == 1 or slot_of(place_of(ref)) in self.slots

    def owns_file(self, folder: Path, file: Path) -> bool:
        """Whether the object in a file below the folder of all objects is one of these; the file is not opened."""
        return self.of == 1 or slot_of(file.relative_to(folder).as_posix()) in self.slots

    def named(self, stem: str, suffix: str) -> str:
        """The name of a file of this shard: `objects.sock` when it is the only one, else `objects-0-of-2.sock`."""
        return f"{stem}{'' if self.of == 1 else f'-{self.number}-of-{self.of}'}{suffix}"

    def socket(self, project: Project) -> Path:
        """Where its worker listens to callers."""
        return project.socket_file(self.named("objects", ".sock"))

    def peer_socket(self, project: Project) -> Path:
        """Where its worker listens to the app's other workers."""
        return project.socket_file(self.named("objects", "-peers.sock"))


def shards(workers: int) -> list[Shard]:
    """All shards of a layout."""
    return [Shard(number, workers) for number in range(workers)]


def shard_of(ref: ObjectRef, workers: int) -> int:
    """The number of the shard that owns an object, of `workers` shards."""
    # Among the ranges of `Shard.slots`, found without looking at each.
    return ((slot_of(place_of(ref)) + 1) * workers - 1) // SLOTS


def slot_of(place: str) -> int:
    """The slot of the object that lies there in the folder of all objects. Python's own hash would be another in each
    process."""
    return int.from_bytes(hashlib.sha256(place.encode()).digest()[:4]) % SLOTS
