"""What a server shows of jobs to Prometheus."""

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from melee.clock import SystemClock
from melee.jobs.counts import BUCKETS, Counts
from melee.jobs.sqlite_store import SqliteStore
from melee.jobs.store import Stats
from melee.project import Project
from melee.store.connection import Connection
from melee.store.database import Database

CONTENT_TYPE = CONTENT_TYPE_LATEST

_COUNTERS = {
    "enqueued": "Jobs that this server, or a worker beside it, has stored.",
    "started": "Runs of jobs that have begun.",
    "succeeded": "Runs of jobs that have ended well.",
    "failed": "Runs of jobs that came to nothing: they raised, took too long or were lost.",
    "dead": "Jobs that have failed for good.",
}


class Metrics(Collector):
    """Adds up what the processes of a server have counted since it started.

    Only jobs that are registered have a series, each from the moment it is known, at 0: what is stored under another
    name cannot make any number of them.
    """

    def __init__(self) -> None:
        self._counts: dict[str, Counts] = {}
        self._queued: Mapping[str, int] | None = None

    def know(self, names: Iterable[str]) -> None:
        """These jobs are registered."""
        for name in names:
            self._counts.setdefault(name, Counts())

    def add(self, counts: Mapping[str, Counts]) -> None:
        for name, more in counts.items():
            if known := self._counts.get(name):
                known.add(more)

    def page(self, queued: Mapping[str, int] | None) -> bytes:
        """All series in the text format.

        Args:
            queued: how many jobs of each name are queued; None when that is not known.
        """
        self._queued = queued
        return generate_latest(self)

    def collect(self) -> Iterator[Metric]:
        for what, words in _COUNTERS.items():
            counter = CounterMetricFamily(f"jobs_{what}", words, labels=["job"])
            for name, counts in self._counts.items():
                counter.add_metric([name], getattr(counts, what))
            yield counter
        runs = HistogramMetricFamily("jobs_run_seconds", "How long runs of jobs took.", labels=["job"])
        for name, counts in self._counts.items():
            runs.add_metric([name], _buckets(counts), counts.seconds)
        yield runs
        if self._queued is not None:
            gauge = GaugeMetricFamily("jobs_queued", "Jobs that wait to be run, now or later.", labels=["job"])
            for name in self._counts:
                gauge.add_metric([name], self._queued.get(name, 0))
            yield gauge


def _buckets(counts: Counts) -> list[tuple[str, float]]:
    """How many runs took up to each bound."""
    bounds = [*(f"{bound:g}" for bound in BUCKETS), "+Inf"]
    return [(bound, sum(counts.runs[: index + 1])) for index, bound in enumerate(bounds)]


def queued_jobs(project: Project) -> dict[str, int]:
    """How many jobs of each name are queued, as the table says now; raises `DatabaseError`."""
    return {name: stats.queued for name, stats in _per_name(project).items()}


def _per_name(project: Project) -> Mapping[str, Stats]:
    if project.database_url:
        # Who keeps jobs in SQLite need not have it installed.
        from melee.jobs.postgres_store import PostgresStore
        from melee.store.postgres import PostgresConnection

        postgres = PostgresConnection(project.database_url)
        try:
            return PostgresStore(postgres, SystemClock()).per_name()
        finally:
            postgres.close()
    if not project.database.is_file():
        return {}
    sqlite = Connection(project.database, read_only=True)
    try:
        return SqliteStore(Database(sqlite), SystemClock()).per_name()
    finally:
        sqlite.close()
