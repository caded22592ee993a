"""What is counted of jobs, and how Prometheus reads it."""

import socket
import threading
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from melee.clock import ManualClock
from melee.jobs.counts import BUCKETS, Counts, Tally, read_counts, send_counts, send_enqueued
from melee.jobs.metrics import Metrics
from melee.jobs.store import Claim

CLAIM = Claim(id=1, number=1, name="mail", payload="{}", attempt=1, max_attempts=5)
AGAIN = Claim(id=1, number=2, name="mail", payload="{}", attempt=2, max_attempts=5)


def tally() -> tuple[Tally, Counts, ManualClock]:
    """One that sends, and what has come of it."""
    total, clock = Counts(), ManualClock(1_800_000_000)

    def add(counts: dict[str, Counts]) -> None:
        assert list(counts) == ["mail"]
        total.add(counts["mail"])

    return Tally(add, clock), total, clock


def test_a_run_begins_once_however_often_it_is_seen() -> None:
    counted, total, _clock = tally()
    for _ in range(3):
        counted.began(CLAIM)
    counted.took(CLAIM, 0.3)
    counted.succeeded([CLAIM])
    counted.failed(AGAIN, is_dead=False)
    counted.send(at_once=True)
    assert (total.started, total.succeeded, total.failed, total.dead) == (2, 1, 1, 0)
    assert (sum(total.runs), total.seconds) == (1, 0.3)


def test_a_run_that_nobody_saw_has_begun_all_the_same() -> None:
    counted, total, _clock = tally()
    counted.succeeded([CLAIM])
    counted.failed(AGAIN, is_dead=True)
    counted.left("mail", is_dead=True)
    counted.send(at_once=True)
    assert (total.started, total.succeeded, total.failed, total.dead) == (2, 1, 2, 2)


def test_what_is_counted_is_sent_ten_times_a_second_at_most() -> None:
    counted, total, clock = tally()
    counted.began(CLAIM)
    counted.send()
    assert total.started == 1
    counted.began(AGAIN)
    counted.send()
    assert total.started == 1
    assert counted.next_at == pytest.approx(clock.elapsed() + 0.1)
    clock.move(0.1)
    counted.send()
    assert (total.started, counted.next_at) == (2, None)


def test_a_time_is_in_every_bucket_from_its_own_on() -> None:
    counted, total, _clock = tally()
    for seconds in (0.0, 0.005, 0.0051, 1.0, 299.0, 301.0):
        counted.took(CLAIM, seconds)
    counted.send(at_once=True)
    metrics = Metrics()
    metrics.know(["mail"])
    metrics.add({"mail": total})
    (runs,) = [
        family
        for family in text_string_to_metric_families(metrics.page(None).decode())
        if family.name == "jobs_run_seconds"
    ]
    buckets = {sample.labels["le"]: sample.value for sample in runs.samples if "le" in sample.labels}
    assert list(map(float, buckets)) == [*BUCKETS, float("inf")]
    assert (buckets["0.005"], buckets["0.01"], buckets["0.5"], buckets["1"]) == (2, 3, 3, 4)
    assert (buckets["60"], buckets["300"], buckets["+Inf"]) == (4, 5, 6)


def test_a_name_with_anything_in_it_is_read_as_it_is() -> None:
    name = 'a "b" \\ c é'
    metrics = Metrics()
    metrics.know([name])
    metrics.add({name: Counts(enqueued=2), "other": Counts(enqueued=9)})
    families = text_string_to_metric_families(metrics.page({name: 3, "other": 4}).decode())
    samples = {(sample.name, sample.labels["job"]): sample.value for family in families for sample in family.samples}
    assert samples["jobs_enqueued_total", name] == 2
    assert samples["jobs_queued", name] == 3
    assert {job for _name, job in samples} == {name}


def test_many_that_send_at_once_are_all_heard(tmp_path: Path) -> None:
    path = tmp_path / "counts"
    heard = Counts()

    def send() -> None:
        for _ in range(100):
            send_enqueued(path, ["mail", "mail"])

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiving:
        receiving.bind(str(path))
        receiving.settimeout(30)
        senders = [threading.Thread(target=send) for _ in range(8)]
        for sender in senders:
            sender.start()
        for _ in range(800):
            heard.add(read_counts(receiving.recv(65536))["mail"])
        for sender in senders:
            sender.join()
    assert heard.enqueued == 1600


def test_without_a_server_nothing_is_sent_and_nothing_raised(tmp_path: Path) -> None:
    path = tmp_path / "counts"
    send_counts(path, {"mail": Counts(enqueued=1)})
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiving:
        receiving.bind(str(path))
    send_counts(path, {"mail": Counts(enqueued=1)})
    assert path.is_socket()
