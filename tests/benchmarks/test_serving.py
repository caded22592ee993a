"""The comparisons run to their end; what they find is for an idle machine."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "serving.py"
FIGURE = r" +[\d,.]+(/s| ms) +\d+\.\d\d x "


@pytest.mark.slow
def test_every_pair_has_its_ratio() -> None:
    ended = subprocess.run(
        [sys.executable, BENCHMARK, "0.2"],
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
