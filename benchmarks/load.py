"""The load: clients that each send a request on a connection of its own, and send the next when it is answered.

It is a process by itself, which shares no interpreter with what it measures: `python benchmarks/load.py PORT CLIENTS
SECONDS PAGE` prints a `Load` as JSON. Every answer has to be a 200 with the text PAGE, and below it, on a line of its
own, how many requests the process that made it has answered; the first that is not ends the run.
"""

import selectors
import socket
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import click
import httptools
import msgspec

REQUEST = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
ANSWERED_WITHIN_SECONDS = 60


@dataclass(frozen=True)
class Load:
    """What the clients saw.

    Attributes:
        requests: how many were answered. Those on their way when the time was up are waited for and counted.
        seconds: from the first connection to the last answer.
        median_seconds: from before a connection to the end of the answer on it.
        most_of_a_process: how many requests one process has answered; 1 when each had a process to itself.
    """

    requests: int
    seconds: float
    median_seconds: float
    most_of_a_process: int

    @property
    def requests_per_second(self) -> float:
        return self.requests / self.seconds


class WrongAnswer(Exception):
    """What came is not the page, or did not come."""


@dataclass
class Exchange:
    """A request on a connection of its own, and what has come of the answer."""

    address: tuple[str, int]
    begun: float = field(default_factory=time.perf_counter)
    body: bytes = b""
    is_whole: bool = False

    def __post_init__(self) -> None:
        self.socket = socket.socket()
        self.socket.settimeout(ANSWERED_WITHIN_SECONDS)
        self.socket.connect(self.address)
        self.socket.sendall(REQUEST)
        self.parser = httptools.HttpResponseParser(self)

    def receive(self) -> None:
        """Takes what has arrived."""
        received = self.socket.recv(65536)
        if not received:
            raise WrongAnswer(f"the connection ended after {self.body!r}")
        self.parser.feed_data(received)

    def on_body(self, part: bytes) -> None:
        self.body += part

    def on_message_complete(self) -> None:
        self.is_whole = True

    def number(self, page: bytes) -> int:
        """Which request of its process this was."""
        body, _, number = self.body.rpartition(b"\n")
        status = self.parser.get_status_code()
        if (status, body) != (200, page) or not number.isdigit():
            raise WrongAnswer(f"{status} with {self.body!r}")
        return int(number)


def load(port: int, clients: int, seconds: float, page: bytes) -> Load:
    """Raises `WrongAnswer`, or what the socket or the parser raises, at the first exchange that goes wrong."""
    selector = selectors.DefaultSelector()
    times, most = [], 0
    begun = ended = time.perf_counter()
    try:
        for _ in range(clients):
            begin(port, selector)
        while selector.get_map():
            for exchange in answered(selector):
                ended = time.perf_counter()
                times.append(ended - exchange.begun)
                most = max(most, exchange.number(page))
                if ended - begun < seconds:
                    begin(port, selector)
    finally:
        for key in list(selector.get_map().values()):
            key.data.socket.close()
        selector.close()
    return Load(len(times), ended - begun, statistics.median(times), most)


def begin(port: int, selector: selectors.BaseSelector) -> None:
    exchange = Exchange(("127.0.0.1", port))
    selector.register(exchange.socket, selectors.EVENT_READ, exchange)


def answered(selector: selectors.BaseSelector) -> Iterator[Exchange]:
    """Waits until something arrives, and gives the exchanges that are whole by it; their connections are closed."""
    ready = selector.select(ANSWERED_WITHIN_SECONDS)
    if not ready:
        raise WrongAnswer(f"{len(selector.get_map())} requests wait, and nothing came for {ANSWERED_WITHIN_SECONDS} s")
    for key, _events in ready:
        exchange: Exchange = key.data
        exchange.receive()
        if exchange.is_whole:
            yield exchange
            selector.unregister(exchange.socket)
            exchange.socket.close()


@click.command(help=__doc__)
@click.argument("port", type=int)
@click.argument("clients", type=click.IntRange(min=1))
@click.argument("seconds", type=click.FloatRange(min=0, min_open=True))
@click.argument("page")
def main(port: int, clients: int, seconds: float, page: str) -> None:
    try:
        seen = load(port, clients, seconds, page.encode())
    except (WrongAnswer, OSError, httptools.HttpParserError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    click.echo(msgspec.json.encode(seen))


if __name__ == "__main__":
    main()
