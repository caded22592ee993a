"""`melee serve` beside other ways to serve the same app, in one run on one machine: the figures are ratios.

SECONDS is how long each server of a pair is measured, in TURNS with the other one, so that what the machine does
besides meets both. Every request comes on a connection of its own, and every answer is read and compared. The clients
run on the same machine: let it do nothing else.
"""

import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.progress import Progress

from benchmarks.load import Load
from benchmarks.servers import Server, served

HERE = Path(__file__).parent
AT_A_TIME = 4
CLIENTS = 16
WARM_SECONDS = 1.0

APP = """
from itertools import count

from flask import render_template

from melee import App

app = App(__name__)
requests = count(1)


@app.get("/")
def guests():
    return render_template("guests.html", guests=["Ada", "Grace", "Edsger"], number=next(requests))
"""
PLAIN_APP = APP.replace("from melee import App", "from flask import Flask as App")
TEMPLATE = "<h1>Guests</h1>\n<ul>{% for guest in guests %}<li>{{ guest }}</li>{% endfor %}</ul>\n{{ number }}"
PAGE = "<h1>Guests</h1>\n<ul><li>Ada</li><li>Grace</li><li>Edsger</li></ul>"

MELEE = "-m melee serve . --host 127.0.0.1 --port 0"
# A worker that is just being forked when gunicorn is told to end does not hear of it and waits for this grace to pass.
GUNICORN = f"-m gunicorn app:app --bind 127.0.0.1:0 --workers {AT_A_TIME} --no-control-socket --graceful-timeout 3"


@dataclass(frozen=True)
class Pair:
    """`melee serve` and a peer under the same load.

    Attributes:
        peer: its name, and the arguments with which Python runs it in the app's folder.
        processes_stay: whether each answers one request after the other, or one request and no more.
        goal: the ratio to reach.
        app: the source of what both serve, a melee app by default.
    """

    what: str
    peer: tuple[str, str]
    goal: str
    clients: int = CLIENTS
    processes_stay: bool = False
    app: str = APP


PAIRS = [
    Pair(
        f"a process a request, {CLIENTS} clients",
        ("gunicorn --max-requests 1", f"{GUNICORN} --max-requests 1"),
        "25 or more",
    ),
    Pair(
        "the same, a plain Flask app",
        ("gunicorn --max-requests 1", f"{GUNICORN} --max-requests 1"),
        "none is set",
        app=PLAIN_APP,
    ),
    Pair(
        "the same",
        ("gunicorn --max-requests 1 --preload", f"{GUNICORN} --max-requests 1 --preload"),
        "none is set",
    ),
    Pair(
        "a process a request, one client",
        ("fork on accept", str(HERE / "fork_on_accept.py")),
        "0.75 or less",
        clients=1,
    ),
    Pair(
        f"{AT_A_TIME} lasting processes, {CLIENTS} clients", ("gunicorn", GUNICORN), "0.5 or more", processes_stay=True
    ),
]


def compared(pair: Pair, seconds: float, turns_of_each: int) -> str:
    """Measures both in turns, and says it in a line."""
    with running("melee serve", MELEE, pair) as ours, running(*pair.peer, pair) as peer:
        turns = []
        for turn_seconds in (min(seconds, WARM_SECONDS), *[seconds / turns_of_each] * turns_of_each):
            with peer.held_up():
                of_ours = load(ours, pair, turn_seconds)
            with ours.held_up():
                turns.append((of_ours, load(peer, pair, turn_seconds)))
    # The first turn was for warming up.
    our_loads, peer_loads = zip(*turns[1:], strict=True)
    return in_a_line(pair, our_loads, peer_loads)


@contextmanager
def running(name: str, arguments: str, pair: Pair) -> Iterator[Server]:
    """A server of the app, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        (folder / "templates").mkdir()
        (folder / "templates" / "guests.html").write_text(TEMPLATE)
        (folder / "app.py").write_text(pair.app)
        per_child = 0 if pair.processes_stay else 1
        (folder / "melee.toml").write_text(f"[web]\nslots = {AT_A_TIME}\nrequests_per_child = {per_child}\n")
        with served(name, [sys.executable, *arguments.split()], folder) as server:
            yield server


def load(server: Server, pair: Pair, seconds: float) -> Load:
    """What the clients in `load.py` see. `Misbehaved` says which answer was wrong, or that the processes were."""
    command = [sys.executable, str(HERE / "load.py"), str(server.port), str(pair.clients), str(seconds), PAGE]
    ended = subprocess.run(command, capture_output=True, start_new_session=True, check=False)
    if ended.returncode:
        raise server.misbehaved(ended.stderr.decode().strip())
    seen = msgspec.json.decode(ended.stdout, type=Load)
    if (seen.most_of_a_process > 1) != pair.processes_stay:
        raise server.misbehaved(f"{seen.most_of_a_process} requests are the most that one of its processes answered")
    return seen


def in_a_line(pair: Pair, ours: Sequence[Load], peer: Sequence[Load]) -> str:
    figure = median_milliseconds if pair.clients == 1 else requests_per_second
    unit = " ms" if pair.clients == 1 else "/s"
    our_figure, peer_figure = figure(ours), figure(peer)
    return (
        f"{pair.what:36} {our_figure:8,.1f}{unit}  {our_figure / peer_figure:6.2f} x {pair.peer[0]}, "
        f"{peer_figure:,.1f}{unit}; to reach: {pair.goal}"
    )


def requests_per_second(turns: Sequence[Load]) -> float:
    return sum(turn.requests for turn in turns) / sum(turn.seconds for turn in turns)


def median_milliseconds(turns: Sequence[Load]) -> float:
    return 1e3 * statistics.median(turn.median_seconds for turn in turns)


def each_compared(seconds: float, turns: int) -> Iterator[str]:
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
        bar = progress.add_task("", total=len(PAIRS))
        for pair in PAIRS:
            progress.update(bar, description=f"beside {pair.peer[0]}")
            yield compared(pair, seconds, turns)
            progress.advance(bar)


@click.command(help=__doc__)
@click.argument("seconds", type=click.FloatRange(min=0, min_open=True), default=3.0)
@click.argument("turns", type=click.IntRange(min=1), default=3)
def main(seconds: float, turns: int) -> None:
    # Told to stop, it ends the servers too.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    for line in list(each_compared(seconds, turns)):
        click.echo(line)


if __name__ == "__main__":
    main()
