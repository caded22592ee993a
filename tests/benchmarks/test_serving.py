"""The comparisons run to their end; what they find is for an idle machine."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.load import Load
from benchmarks.serving import PAIRS, Pair, in_a_line

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "serving.py"
FIGURE = r" +[\d,.]+(/s| ms) +\d+\.\d\d x "


@pytest.mark.slow
def test_every_pair_has_its_ratio() -> None:
    ended = subprocess.run(
        [sys.executable, BENCHMARK, "0.2", "1"],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONWARNINGS": "error"},
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [re.split(FIGURE, line)[0] for line in ended.stdout.splitlines()] == [
        "a process a request, 16 clients",
        "the same, a plain Flask app",
        "the same",
        "a process a request, one client",
        "4 lasting processes, 16 clients",
    ]


def test_the_turns_are_added_up_before_they_are_divided() -> None:
    """What a slow machine did in one turn counts for no more than its requests."""
    ours, peer = [Load(90, 1, 0.1, 1), Load(10, 3, 0.1, 1)], [Load(4, 1, 0.1, 1), Load(6, 3, 0.1, 1)]
    assert "25.0/s   10.00 x gunicorn --max-requests 1, 2.5/s;" in in_a_line(PAIRS[0], ours, peer)


def test_of_one_client_the_medians_of_the_turns_are_compared() -> None:
    alone = Pair("alone", ("a peer", ""), "1", clients=1)
    ours, peer = [Load(1, 1, median, 1) for median in (0.001, 0.004, 0.1)], [Load(1, 1, 0.002, 1)] * 3
    assert "4.0 ms    2.00 x a peer, 2.0 ms; to reach: 1" in in_a_line(alone, ours, peer)
