"""Calls to durable objects beside SQLite used by hand, in one run on one machine: the figures are ratios.

`python benchmarks/objects.py [SECONDS]` prints a line a measurement. Every writer commits with `synchronous=FULL`, so
each figure contains real disk flushes; run it on a machine that is otherwise idle.
"""

import multiprocessing
import selectors
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from multiprocessing.synchronize import Event
from pathlib import Path

import apsw
import click
import msgspec

from melee.objects.protocol import HEADER, request_frame
from melee.objects.request import Call
from melee.objects.shard import Shard
from melee.testing import WorkerUnderTest

CALLERS = 64
OBJECTS = 100
UPSERT = (
    "INSERT INTO days (on_date, views) VALUES ('2030-01-01', 1) ON CONFLICT (on_date) DO UPDATE SET views = views + 1"
)
TABLE = "CREATE TABLE days (on_date TEXT PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0)"
APP = f'''
from melee import App, Durable

app = App(__name__)


class Stats(Durable):
    def setup(self):
        self.storage.run("{TABLE}")

    def hit(self):
        self.storage.run("{UPSERT}")
'''


def opened(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "full")
    connection.execute(TABLE)
    return connection


def by_hand(folder: Path, databases: int, seconds: float) -> float:
    """Commits a second of one thread that flushes each in turn."""
    connections = [opened(folder / f"by-hand-{databases}-{number}.sqlite3") for number in range(databases)]
    commits, ends_at = 0, time.perf_counter() + seconds
    for connection in cycle(connections):
        connection.execute(UPSERT)
        commits += 1
        if time.perf_counter() > ends_at:
            break
    for connection in connections:
        connection.close()
    return commits / seconds


@contextmanager
def worker(folder: Path) -> Iterator[Path]:
    """A real object worker with the app above; yields its socket."""
    app = folder / "app"
    app.mkdir()
    (app / "app.py").write_text(APP)
    with WorkerUnderTest(app, data=folder / "data") as started:
        yield Shard().socket(started.project)


def hit(id: str) -> bytes:
    return request_frame(Call("Stats", id, "hit", msgspec.Raw(b"[]")))


def by_callers(path: Path, objects: int, seconds: float) -> float:
    """Calls a second of 64 callers, each of which waits for its answer before it calls again."""
    frames = cycle([hit(str(number)) for number in range(objects)])
    selector = selectors.DefaultSelector()
    for _ in range(CALLERS):
        caller = socket.socket(socket.AF_UNIX)
        caller.connect(str(path))
        selector.register(caller, selectors.EVENT_READ)
        caller.sendall(next(frames))
    answers, ends_at = 0, time.perf_counter() + seconds
    while time.perf_counter() < ends_at:
        for key, _events in selector.select():
            caller = key.fileobj  # type: ignore[assignment]
            assert b"returned" in caller.recv(4096)
            answers += 1
            caller.sendall(next(frames))
    for key in list(selector.get_map().values()):
        key.fileobj.close()  # type: ignore[union-attr]
    return answers / seconds


def lone_caller(path: Path, seconds: float) -> float:
    """The median of the seconds from a request to its answer, with one caller and nobody else."""
    request, times = hit("lone"), []
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(path))
        ends_at = time.perf_counter() + seconds
        while time.perf_counter() < ends_at:
            begun = time.perf_counter()
            caller.sendall(request)
            caller.recv(4096)
            times.append(time.perf_counter() - begun)
    return statistics.median(times)


def serve_by_hand(path: str, database: str, listens: Event) -> None:
    """The least that a server of one caller can do: read, upsert, commit, answer."""
    connection = opened(Path(database))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        listens.set()
        caller, _address = listener.accept()
        with caller:
            while caller.recv(4096):
                connection.execute(UPSERT)
                caller.sendall(HEADER.pack(2) + b"ok")
    connection.close()


def lone_by_hand(folder: Path, seconds: float) -> float:
    path, database = folder / "by-hand.sock", folder / "lone.sqlite3"
    spawning = multiprocessing.get_context("spawn")
    listens = spawning.Event()
    server = spawning.Process(target=serve_by_hand, args=(str(path), str(database), listens))
    server.start()
    assert listens.wait(30), "the server by hand does not listen after 30 s; what it printed says why"
    median = lone_caller(path, seconds)
    server.join()
    return median


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        one, hundred = by_hand(folder, 1, seconds), by_hand(folder, OBJECTS, seconds)
        alone = lone_by_hand(folder, seconds)
        with worker(folder) as path:
            by_callers(path, OBJECTS, 1)  # creates the objects
            our_one, our_hundred = by_callers(path, 1, seconds), by_callers(path, OBJECTS, seconds)
            our_alone = lone_caller(path, seconds)
    tell(f"one object, {CALLERS} callers", f"{our_one:,.0f}/s", our_one / one, f"a flush a call, {one:,.0f}/s")
    tell(
        f"{OBJECTS} objects, {CALLERS} callers",
        f"{our_hundred:,.0f}/s",
        our_hundred / hundred,
        f"one thread, {hundred:,.0f}/s",
    )
    tell(
        "one caller, median", f"{our_alone * 1e3:.3f} ms", our_alone / alone, f"socket and SQLite, {alone * 1e3:.3f} ms"
    )


def tell(what: str, figure: str, ratio: float, beside: str) -> None:
    click.echo(f"{what:24} {figure:>12}   {ratio:5.2f} x by hand ({beside})")


if __name__ == "__main__":
    main()
