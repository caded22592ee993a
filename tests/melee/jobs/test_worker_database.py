"""What a worker does when its database is cut off, locked or full."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from melee.jobs.store import Stats
from melee.store.connection import BUSY_SECONDS, Connection
from tests.melee.gate import Gate
from tests.melee.jobs.between import Between
from tests.melee.jobs.working import Ear, Place, Working, is_done, until

CANNOT = "the job worker cannot use the database"
ONE = "[jobs]\nworkers = 1\n"


def test_nothing_is_lost_or_stuck_when_its_connections_are_cut_again_and_again(postgres_place: Place, ear: Ear) -> None:
    postgres_place.write_app()
    with Working(postgres_place) as worker:
        for cut in range(8):
            for number in range(50):
                postgres_place.enqueue("note", text=f"{cut}.{number}")
            heard = ear.several(25)
            assert postgres_place.cut_connections() >= 1
            heard += ear.several(25)
            assert sorted(heard) == sorted(f"{cut}.{number}" for number in range(50))
        until(lambda: is_done(postgres_place))
        assert len(worker.logged(CANNOT)) >= 8
        assert not ear.has_heard()
        worker.stop()
        assert worker.exit_code() == 0


def test_a_job_whose_end_could_not_be_written_is_not_run_again(postgres_place: Place, ear: Ear, gate: Gate) -> None:
    postgres_place.write_app()
    postgres_place.enqueue("wait", gate=gate.path)
    with Working(postgres_place) as worker:
        waiting = gate.reached()
        with postgres_place.locking_rows():
            # The acknowledgement has to wait for them.
            waiting.close()
            until(lambda: postgres_place.cut_connections(query="%DELETE FROM melee_jobs USING%"))
        until(lambda: is_done(postgres_place))
        assert len(worker.logged(CANNOT)) == 1
        assert [words.split()[0] for words in ear.several(2)] == ["began", "ended"]
        assert not ear.has_heard()


def test_it_listens_again_when_its_listener_alone_was_cut(postgres_place: Place, ear: Ear) -> None:
    postgres_place.write_app()
    with Working(postgres_place) as worker:
        postgres_place.enqueue("note", text="first")
        assert ear.next() == "first"
        for text in ("second", "third"):
            assert postgres_place.cut_connections(query="LISTEN%") == 1
            until(lambda: postgres_place.listeners() == 1)
            postgres_place.enqueue("note", text=text)
            assert ear.next() == text
        assert len(worker.logged(CANNOT)) == 2


def test_behind_a_pooler_it_finds_within_a_second_what_it_does_not_hear_of(
    postgres_place: Place, ear: Ear, tmp_path: Path
) -> None:
    with Between(tmp_path, postgres_place.url, is_deaf=True) as pooler:
        behind = replace(postgres_place, url=pooler.url)
        behind.write_app()
        with Working(behind):
            behind.enqueue("note", text="0")
            assert ear.next() == "0"
            for number in range(1, 4):
                begun = time.monotonic()
                postgres_place.enqueue("note", text=str(number))
                assert ear.next() == str(number)
                assert time.monotonic() - begun < 3


def test_it_waits_for_a_database_longer_and_longer_and_works_when_it_is_there(
    postgres_place: Place, ear: Ear, tmp_path: Path
) -> None:
    postgres_place.write_app()
    postgres_place.enqueue("note", text="hello")
    between = Between(tmp_path, postgres_place.url)
    with Working(replace(postgres_place, url=between.url)) as worker:
        until(lambda: len(worker.logged(CANNOT)) >= 3)
        assert [line["again_in_seconds"] for line in worker.logged(CANNOT)[:3]] == [0.2, 0.4, 0.8]
        with between:
            assert ear.next() == "hello"
            until(lambda: is_done(postgres_place))
            worker.stop()
            assert worker.exit_code() == 0


def test_it_begins_nothing_while_its_leases_are_in_doubt(
    postgres_place: Place, ear: Ear, gate: Gate, tmp_path: Path
) -> None:
    postgres_place.write_app(settings=ONE)
    postgres_place.enqueue("wait", gate=gate.path)
    postgres_place.enqueue("note", text="waits")
    between = Between(tmp_path, postgres_place.url)
    with between, Working(replace(postgres_place, url=between.url), lease=0.3) as worker:
        with gate.reached():
            ear.next()
            between.cut()
            until(lambda: len(worker.logged(CANNOT)) == 3)
        assert ear.next_words()[0] == "ended"
        until(lambda: len(worker.logged(CANNOT)) == 4)
        assert not ear.has_heard()
        between.open()
        assert ear.next() == "waits"
        until(lambda: is_done(postgres_place))


def test_what_another_took_over_is_run_by_that_one_alone(
    postgres_place: Place, ear: Ear, gate: Gate, tmp_path: Path
) -> None:
    postgres_place.write_app(settings=ONE)
    postgres_place.enqueue("wait", gate=gate.path, text="cut off")
    for number in range(10):
        postgres_place.enqueue("note", text=str(number))
    between = Between(tmp_path, postgres_place.url)
    with between, Working(replace(postgres_place, url=between.url), lease=1) as cut_off:
        waiting = gate.reached()
        ear.next()
        between.cut()
        # Another worker picks up all that this one holds.
        with Working(postgres_place, lease=1):
            with gate.reached():
                assert ear.next_words()[0] == "began"
                waiting.close()
                assert ear.next_words()[0] == "ended"
            assert ear.next_words()[0] == "ended"
            assert sorted(ear.several(10)) == [str(number) for number in range(10)]
            until(lambda: is_done(postgres_place))
        between.open()
        until(lambda: postgres_place.listeners() == 1)
        cut_off.stop()
        assert cut_off.exit_code() == 0
    assert not ear.has_heard()


@pytest.mark.slow
def test_a_writer_who_keeps_the_file_to_himself_holds_up_a_worker_and_no_more(
    sqlite_place: Place, ear: Ear, gate: Gate
) -> None:
    sqlite_place.write_app(settings=ONE)
    sqlite_place.enqueue("wait", gate=gate.path)
    with Working(sqlite_place) as worker:
        waiting = gate.reached()
        writer = Connection(sqlite_place.folder / "data" / "app.sqlite3")
        writer.control("BEGIN IMMEDIATE")
        waiting.close()
        began = time.monotonic()
        until(lambda: worker.logged(CANNOT))
        assert time.monotonic() - began > BUSY_SECONDS - 0.1
        writer.control("COMMIT")
        writer.close()
        until(lambda: is_done(sqlite_place))
        assert [words.split()[0] for words in ear.several(2)] == ["began", "ended"]
        sqlite_place.enqueue("note", text="after")
        assert ear.next() == "after"


FILLING = """
import apsw
from tests.melee.failing_disk import FailingDisk


class Filling(FailingDisk):
    def check(self, operation, name):
        if operation == "write" and self.fails_for in name and os.path.exists(FULL):
            raise apsw.FullError("the test says: no room")


mounted = Filling.mounted()
mounted.__enter__()
"""


def test_what_could_not_be_written_to_a_full_disk_is_written_when_there_is_room(
    sqlite_place: Place, ear: Ear, gate: Gate
) -> None:
    full = sqlite_place.folder.with_name("full")
    sqlite_place.write_app(f"FULL = {str(full)!r}\n" + FILLING, ONE)
    sqlite_place.enqueue("wait", gate=gate.path)
    with Working(sqlite_place) as worker:
        with gate.reached():
            full.touch()
        until(lambda: len(worker.logged(CANNOT)) >= 2)
        assert sqlite_place.stats() == Stats(0, 1, 0)
        full.unlink()
        until(lambda: is_done(sqlite_place))
        assert [words.split()[0] for words in ear.several(2)] == ["began", "ended"]
        assert not ear.has_heard()
