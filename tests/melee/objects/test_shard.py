"""Who owns an object: one shard of each layout, the same one in every process and every version."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from melee.objects.files import file_of, place_of
from melee.objects.request import ObjectRef
from melee.objects.shard import SLOTS, Shard, shard_of, shards, slot_of
from melee.project import Project

ids = some.text(some.characters(exclude_categories=["Cs"]), min_size=1, max_size=50)


@given(ids, some.integers(1, 64))
def test_exactly_one_shard_of_a_layout_owns_an_object(id: str, workers: int) -> None:
    ref = ObjectRef("Counter", id)
    assert [shard for shard in shards(workers) if shard.owns(ref)] == [Shard(shard_of(ref, workers), workers)]
    folder = Path("/srv/data/objects")
    assert Shard(shard_of(ref, workers), workers).owns_file(folder, file_of(folder, ref))


@pytest.mark.parametrize("workers", range(1, 65))
def test_the_shards_of_a_layout_share_all_slots_in_equal_parts(workers: int) -> None:
    parts = [shard.slots for shard in shards(workers)]
    assert [slot for part in parts for slot in part] == list(range(SLOTS))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_an_object_keeps_its_slot_for_ever() -> None:
    """Another digest would give a running app's objects to other workers than the ones that lock them."""
    named = [ObjectRef("Stats", "visits"), ObjectRef("Stats", "é"), ObjectRef("Stat", "s/visits")]
    assert [slot_of(place_of(ref)) for ref in named] == [772, 992, 45]


def test_objects_are_spread_over_the_workers() -> None:
    owners = Counter(shard_of(ObjectRef("Counter", str(number)), 4) for number in range(4000))
    assert all(900 < owned < 1100 for owned in owners.values())
    assert len(owners) == 4


def test_the_files_of_a_shard_carry_its_layout(tmp_path: Path) -> None:
    project = Project(tmp_path, Path("/srv/data"))
    assert Shard().socket(project) == Path("/srv/data/objects.sock")
    assert Shard(1, 2).socket(project) == Path("/srv/data/objects-1-of-2.sock")
    assert Shard(1, 2).peer_socket(project) == Path("/srv/data/objects-1-of-2-peers.sock")
