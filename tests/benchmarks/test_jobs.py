"""The comparisons run to their end and leave nothing behind; what they find is for an idle machine."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.jobs import Row, p99
from benchmarks.peers.huey import HueyPeer
from benchmarks.peers.melee.peer import Melee
from benchmarks.peers.peer import Peer

ROOT = Path(__file__).parents[2]
FIGURE = r" +[\d,.]+(?:/s| ms) +(?:(\d+\.\d\d) x |p99 )"
SMALL = ["0.1", "1", "--queued", "1000", "--scheduled", "300"]


@pytest.fixture
def benchmark() -> Iterator["subprocess.Popen[str]"]:
    """It has been started, and may use a moment's time for each measurement."""
    with subprocess.Popen(
        [sys.executable, "benchmarks/jobs.py", *SMALL],
        cwd=ROOT,
        env=os.environ | {"PYTHONWARNINGS": "error"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


@pytest.mark.slow
def test_every_pair_has_its_ratio(benchmark: "subprocess.Popen[str]") -> None:
    printed, complaints = benchmark.communicate(timeout=300)
    assert (benchmark.returncode, complaints) == (0, "")
    shown = re.compile(rf"(.+?){FIGURE}(\w+|\d)")
    assert [(found[1], found[3]) for line in printed.splitlines() if (found := shown.match(line)) and found[2]] == [
        (what, peer)
        for what, peers in (
            ("enqueue one by one, Postgres", ["PgQueuer", "Procrastinate"]),
            ("enqueue in bulk, Postgres", ["PgQueuer", "Procrastinate"]),
            ("enqueue one by one, SQLite", ["Huey"]),
            ("jobs that do nothing, Postgres", ["PgQueuer", "Procrastinate"]),
            ("jobs that do nothing, SQLite", ["Huey"]),
            ("enqueue to start, Postgres, median", ["PgQueuer", "Procrastinate"]),
            ("enqueue to start, Postgres, p99", ["PgQueuer", "Procrastinate"]),
            ("enqueue to start, SQLite, median", ["Huey"]),
            ("enqueue to start, SQLite, p99", ["Huey"]),
        )
        for peer in peers
    ]
    assert [line.split("  ")[0] for line in printed.splitlines()[-2:]] == [
        "claim of a job, Postgres",
        "claim of a job, SQLite",
    ]
    assert what_is_left(benchmark.pid) == []


@pytest.mark.slow
def test_ctrl_c_ends_the_workers_and_the_server(benchmark: "subprocess.Popen[str]") -> None:
    ends_at = time.monotonic() + 120
    while not any("pgqueuer" in command for command in what_is_left(benchmark.pid)):
        assert time.monotonic() < ends_at, "no worker of PgQueuer was ever started"
        time.sleep(0.01)
    benchmark.send_signal(signal.SIGINT)
    benchmark.communicate(timeout=60)
    assert benchmark.returncode
    assert what_is_left(benchmark.pid) == []


def what_is_left(pid: int) -> list[str]:
    """The folder of the benchmark's server and the processes that name it, as their workers do."""
    folder = Path(tempfile.gettempdir()) / f"melee-benchmark-{pid}"
    commands = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands.append(file.read_text().replace("\0", " "))
        except OSError:
            # It has ended meanwhile.
            continue
    return [command for command in commands if str(folder) in command] + [str(folder)] * folder.exists()


def test_the_median_of_the_turns_is_compared(tmp_path: Path) -> None:
    rates = {"melee": [30.0, 10.0, 20.0], "Huey": [1.0, 2.0, 9.0]}
    peers: list[Peer] = [Melee(tmp_path), HueyPeer(tmp_path)]
    row = Row("jobs", lambda peer, _seconds: [rates[peer.name].pop()], peers, ["5"])
    assert row.measured(1, 3)[0].split() == ["jobs", "20/s", "10.00", "x", "Huey,", "2/s;", "to", "reach:", "5"]


def test_of_seconds_the_slowest_in_a_hundred_are_shown_too(tmp_path: Path) -> None:
    seconds = {"melee": [0.001] * 98 + [0.004] * 2, "Huey": [0.002] * 100}
    peers: list[Peer] = [Melee(tmp_path), HueyPeer(tmp_path)]
    lines = Row("start", lambda peer, _seconds: seconds[peer.name], peers, ["1"], is_rate=False).measured(1, 1)
    assert [line.split()[1:5] for line in lines] == [["median", "1.00", "ms", "0.50"], ["p99", "4.00", "ms", "2.00"]]
    assert p99(list(range(200))) == 198
