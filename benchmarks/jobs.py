"""Durable jobs of melee beside PgQueuer, Procrastinate and Huey, in one run on one machine: the figures are ratios.

SECONDS is how long each of them is measured at a time, in TURNS with the others, so that what the machine does besides
meets all. Postgres is as it is when nobody has set anything, and every store flushes each commit to the disk. Let the
machine do nothing else.
"""

import random
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from benchmarks.claiming import claims
from benchmarks.peers.huey import HueyPeer
from benchmarks.peers.melee.peer import Melee
from benchmarks.peers.peer import BATCH, Client, Peer
from benchmarks.peers.pgqueuer import PgQueuerPeer
from benchmarks.peers.procrastinate import Procrastinate
from benchmarks.postgres import new_database, postgres_server
from benchmarks.workers import Workers, working

FIRST_JOBS = 500
WARM_JOBS = 20
IDLE_SECONDS = (0.02, 0.06)


def one_by_one(peer: Peer, seconds: float) -> list[float]:
    """Jobs a second, each enqueued when the one before is on the disk."""
    with peer.client() as client:
        jobs, begun_at = 0, time.monotonic()
        while time.monotonic() < begun_at + seconds:
            client.enqueue(0)
            jobs += 1
        rate = jobs / (time.monotonic() - begun_at)
        client.clear()
    return [rate]


def in_bulk(peer: Peer, seconds: float) -> list[float]:
    """Jobs a second, as many as `BATCH` at a time."""
    with peer.client() as client:
        batches, begun_at = 0, time.monotonic()
        while time.monotonic() < begun_at + seconds:
            client.enqueue_many(BATCH)
            batches += 1
        rate = BATCH * batches / (time.monotonic() - begun_at)
        client.clear()
    return [rate]


def emptied(peer: Peer, seconds: float) -> list[float]:
    """Jobs a second that workers run and write down, from a queue that was filled before."""
    with warm_workers(peer) as workers:
        jobs = FIRST_JOBS
        while (took := seconds_to_run(workers, jobs)) < seconds / 2:
            jobs = max(int(jobs / took * seconds), jobs + 1)
    return [jobs / took]


def seconds_to_run(workers: Workers, jobs: int) -> float:
    """How long the workers take for so many jobs."""
    with workers.peer.client() as client:
        with workers.held_up():
            before = workers.marks.count()
            for enqueued in range(0, jobs, BATCH):
                client.enqueue_many(min(BATCH, jobs - enqueued))
            begun_at = time.monotonic()
        workers.wait_until(lambda: workers.marks.count() >= before + jobs, f"{jobs} jobs had run", 0.005)
        workers.wait_until(client.is_empty, "these were gone", 0.005)
        took = time.monotonic() - begun_at
        client.clear()
    return took


def to_start(peer: Peer, seconds: float) -> list[float]:
    """Seconds from the call that enqueues a job until it begins, with workers that have nothing to do."""
    samples: list[float] = []
    with warm_workers(peer) as workers, peer.client() as client:
        ends_at = time.monotonic() + seconds
        while not samples or time.monotonic() < ends_at:
            time.sleep(random.uniform(*IDLE_SECONDS))
            samples.append(seconds_to_start(workers, client))
        client.clear()
    return samples


def seconds_to_start(workers: Workers, client: Client) -> float:
    """How long after it was sent a job begins."""
    before, known = workers.marks.count(), workers.marks.lateness()
    client.enqueue(time.monotonic())
    workers.wait_until(lambda: workers.marks.count() > before, "a job had run", 0.001)
    (late,) = set(workers.marks.lateness()) - set(known)
    return late


@contextmanager
def warm_workers(peer: Peer) -> Iterator[Workers]:
    """The workers of a peer, which have run some jobs and have nothing to do."""
    with peer.client() as client, working(peer) as workers:
        for _job in range(WARM_JOBS):
            client.enqueue(time.monotonic())
        workers.wait_until(lambda: workers.marks.count() >= WARM_JOBS, "the first jobs had run", 0.01)
        workers.wait_until(client.is_empty, "the first jobs were gone", 0.01)
        yield workers


@dataclass(frozen=True)
class Row:
    """melee and others, measured in turns.

    Attributes:
        peers: melee first.
        goals: for each of the others the ratio to reach.
        is_rate: whether jobs a second are measured, or seconds.
    """

    what: str
    measure: Callable[[Peer, float], list[float]]
    peers: Sequence[Peer]
    goals: Sequence[str]
    is_rate: bool = True

    def measured(self, seconds: float, turns: int) -> list[str]:
        samples: list[list[float]] = [[] for _peer in self.peers]
        for _turn in range(turns):
            for peer, of_peer in zip(self.peers, samples, strict=True):
                of_peer += self.measure(peer, seconds)
        if self.is_rate:
            return self.lines(self.what, samples, statistics.median)
        return [
            *self.lines(f"{self.what}, median", samples, statistics.median),
            *self.lines(f"{self.what}, p99", samples, p99),
        ]

    def lines(
        self, what: str, samples: Sequence[Sequence[float]], figure: Callable[[Sequence[float]], float]
    ) -> list[str]:
        ours, *others = map(figure, samples)
        return [
            f"{what:34} {self.shown(ours)}  {ours / other:6.2f} x {peer.name}, {self.shown(other).strip()}; "
            f"to reach: {goal}"
            for peer, other, goal in zip(self.peers[1:], others, self.goals, strict=True)
        ]

    def shown(self, figure: float) -> str:
        return f"{figure:9,.0f}/s " if self.is_rate else f"{1e3 * figure:9.2f} ms"


def p99(samples: Sequence[float]) -> float:
    return sorted(samples)[int(0.99 * len(samples))]


@dataclass(frozen=True)
class Claims:
    """How long melee alone takes to claim a job when many wait."""

    what: str
    peer: Melee
    queued: int
    scheduled: int

    def measured(self, seconds: float, _turns: int) -> list[str]:
        samples = claims(self.peer, self.queued, self.scheduled, seconds)
        milliseconds = f"{1e3 * statistics.median(samples):9.2f} ms  p99 {1e3 * p99(samples):.2f} ms"
        of = f"of {self.queued:,} and {self.scheduled:,} due later"
        return [f"{self.what:34} {milliseconds}, {of}; to reach: 1 ms or less"]


def rows(server: str, folder: Path, queued: int, scheduled: int) -> list[Row | Claims]:
    """What is measured; every peer has a database of its own."""
    database = partial(new_database, server)
    for_melee, for_huey = folder / "melee", folder / "huey"
    for_huey.mkdir()
    ours = Melee(for_melee, database("melee"))
    on_sqlite = Melee(for_melee)
    pgqueuer, procrastinate = PgQueuerPeer(database("pgqueuer")), Procrastinate(database("procrastinate"))
    on_postgres: list[Peer] = [ours, pgqueuer, procrastinate]
    beside_huey: list[Peer] = [on_sqlite, HueyPeer(for_huey)]
    none = "none is set"
    return [
        Row("enqueue one by one, Postgres", one_by_one, on_postgres, ["1.4 or more", none]),
        Row("enqueue in bulk, Postgres", in_bulk, on_postgres, ["2 or more", none]),
        Row("enqueue one by one, SQLite", one_by_one, beside_huey, [none]),
        Row("jobs that do nothing, Postgres", emptied, on_postgres, ["2.5 or more", none]),
        Row("jobs that do nothing, SQLite", emptied, beside_huey, ["5 or more"]),
        Row("enqueue to start, Postgres", to_start, on_postgres, ["1 or less", none], is_rate=False),
        Row("enqueue to start, SQLite", to_start, beside_huey, ["1 or less"], is_rate=False),
        Claims("claim of a job, Postgres", ours, queued, scheduled),
        Claims("claim of a job, SQLite", on_sqlite, queued, scheduled),
    ]


def each_measured(measured: Sequence[Row | Claims], seconds: float, turns: int) -> Iterator[str]:
    """The lines, with a bar on the terminal meanwhile."""
    console = Console(stderr=True)
    shown = Progress(
        console=console,
        disable=not console.is_terminal,
        # Each drawing takes time from what is measured.
        refresh_per_second=1,
        transient=True,
        # Else the lines would go where the bar is.
        redirect_stdout=False,
    )
    with shown as progress:
        bar = progress.add_task("", total=len(measured))
        for row in measured:
            progress.update(bar, description=row.what)
            yield from row.measured(seconds, turns)
            progress.advance(bar)


@click.command(help=__doc__)
@click.argument("seconds", type=click.FloatRange(min=0, min_open=True), default=3.0)
@click.argument("turns", type=click.IntRange(min=1), default=3)
@click.option("--queued", type=click.IntRange(min=1), default=1_000_000, help="How many jobs wait when one is claimed.")
@click.option("--scheduled", type=click.IntRange(min=1), default=300_000, help="How many more are due later.")
def main(seconds: float, turns: int, queued: int, scheduled: int) -> None:
    # Told to stop, it ends all that it has started, too.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    with ExitStack() as entered:
        folder = Path(entered.enter_context(tempfile.TemporaryDirectory()))
        server = entered.enter_context(postgres_server())
        lines = list(each_measured(rows(server, folder, queued, scheduled), seconds, turns))
    for line in lines:
        click.echo(line)


if __name__ == "__main__":
    main()
