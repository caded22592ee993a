"""The measurements run to their end; what they find is for an idle machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "objects.py"


@pytest.mark.slow
def test_every_measurement_has_its_line() -> None:
    ended = subprocess.run(
        [sys.executable, BENCHMARK, "0.2"],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONWARNINGS": "error"},
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [line.split("  ")[0] for line in ended.stdout.splitlines()] == [
        "one object, 64 callers",
        "100 objects, 64 callers",
        "one caller, median",
    ]
