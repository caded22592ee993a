"""A server that is measured says its port, and is gone afterwards with all that it started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.servers import Misbehaved, served
from tests.conftest import write_app

FORK_ON_ACCEPT = [sys.executable, str(Path(__file__).parents[2] / "benchmarks" / "fork_on_accept.py")]
APP = """
def app(environ, start_response):
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
"""
MEASURES = f"""
import signal
from pathlib import Path
from benchmarks.servers import served

with served("forks", {FORK_ON_ACCEPT}, Path()) as server:
    print(server.port, flush=True)
    signal.pause()
"""


def printing(source: str) -> list[str]:
    return [sys.executable, "-c", source]


def test_what_prints_no_address_is_named_with_its_last_lines(tmp_path: Path) -> None:
    with (
        pytest.raises(Misbehaved, match=r"^mute: it ended before it said .*:\nno address\n$"),
        served("mute", printing("print('no address')"), tmp_path),
    ):
        pass


def test_a_server_ends_with_the_block(tmp_path: Path) -> None:
    with served("forks", FORK_ON_ACCEPT, write_app(tmp_path, APP)) as server:
        assert server.process.poll() is None
    assert server.process.returncode == -signal.SIGTERM


def test_a_server_that_is_measured_ends_with_ctrl_c(tmp_path: Path) -> None:
    held, inherited = os.pipe()
    with (
        os.fdopen(held, "rb") as held_by_all,
        subprocess.Popen(
            [sys.executable, "-c", MEASURES],
            cwd=write_app(tmp_path, APP),
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
            stdin=inherited,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as measuring,
    ):
        os.close(inherited)
        assert measuring.stdout
        assert measuring.stdout.readline().strip().isdigit()
        measuring.send_signal(signal.SIGINT)
        # Comes to its end when every process that inherited the other end is gone.
        assert held_by_all.read() == b""
        assert measuring.wait(30)
