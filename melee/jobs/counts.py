"""What is counted of jobs, in whichever process it happens, and how it comes to the server that shows it.

Each process sends what it has counted since it last did so, in a datagram to a socket in the data folder: a request
child when it has stored a job, a job worker ten times a second. Only a server with `[server] metrics = true` has that
socket; without one nothing is recorded.
"""

import socket
from bisect import bisect_left
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from melee.clock import Clock
from melee.jobs.store import Claim

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""The upper bounds, in seconds, by which run times are told apart; the last kind of all takes longer."""
_SEND_SECONDS = 0.1
_WAIT_SECONDS_AT_MOST = 1.0


class Counts(msgspec.Struct, array_like=True):
    """Of the jobs of one name.

    Attributes:
        failed: tries that came to nothing; `dead`: those after which no other follows.
        seconds: how long all runs took whose duration is known; `runs`: how many of these there were in each bucket.
    """

    enqueued: int = 0
    started: int = 0
    succeeded: int = 0
    failed: int = 0
    dead: int = 0
    seconds: float = 0
    runs: list[int] = msgspec.field(default_factory=lambda: [0] * (len(BUCKETS) + 1))

    def add(self, other: "Counts") -> None:
        self.enqueued += other.enqueued
        self.started += other.started
        self.succeeded += other.succeeded
        self.failed += other.failed
        self.dead += other.dead
        self.seconds += other.seconds
        self.runs = [one + another for one, another in zip(self.runs, other.runs, strict=True)]


Send = Callable[[dict[str, Counts]], None]

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(dict[str, Counts])


def read_counts(datagram: bytes) -> dict[str, Counts]:
    """Raises `msgspec.MsgspecError` when this is none."""
    return _decoder.decode(datagram)


def send_counts(path: Path, counts: dict[str, Counts]) -> None:
    """Sends them to the server that has this socket, if there is one. One that does not read for a second, or dies at
    that moment, does not get them."""
    if not path.exists():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
        sending.settimeout(_WAIT_SECONDS_AT_MOST)
        try:
            sending.sendto(_encoder.encode(counts), str(path))
        except OSError:
            return


def send_enqueued(path: Path, names: Iterable[str]) -> None:
    """Sends that jobs of these names were stored, see `send_counts`."""
    counts: dict[str, Counts] = {}
    for name in names:
        counts.setdefault(name, Counts()).enqueued += 1
    send_counts(path, counts)


class Tally:
    """What a job worker counts.

    Args:
        send: takes what was counted since it was last called.
    """

    def __init__(self, send: Send, clock: Clock) -> None:
        self._send, self._clock = send, clock
        self._counts: dict[str, Counts] = {}
        self._under_way: set[tuple[int, int]] = set()
        self._send_at = clock.elapsed()

    @property
    def next_at(self) -> float | None:
        """When there is something to send, as `elapsed` of the clock says."""
        return self._send_at if self._counts else None

    def began(self, claim: Claim) -> None:
        """It is being run; said as often as it is seen."""
        key = (claim.id, claim.number)
        if key not in self._under_way:
            self._under_way.add(key)
            self._of(claim.name).started += 1

    def took(self, claim: Claim, seconds: float) -> None:
        counts = self._of(claim.name)
        counts.seconds += seconds
        counts.runs[bisect_left(BUCKETS, seconds)] += 1

    def succeeded(self, claims: Iterable[Claim]) -> None:
        for claim in claims:
            self._ended(claim).succeeded += 1

    def failed(self, claim: Claim, is_dead: bool) -> None:
        counts = self._ended(claim)
        counts.failed += 1
        counts.dead += is_dead

    def left(self, name: str, is_dead: bool) -> None:
        """A try failed of which nobody else can tell: its worker is gone. That it began, that one has counted."""
        counts = self._of(name)
        counts.failed += 1
        counts.dead += is_dead

    def send(self, at_once: bool = False) -> None:
        """Sends what there is, if it is time."""
        if self._counts and (at_once or self._clock.elapsed() >= self._send_at):
            counts, self._counts = self._counts, {}
            self._send(counts)
            self._send_at = self._clock.elapsed() + _SEND_SECONDS

    def _ended(self, claim: Claim) -> Counts:
        self.began(claim)
        self._under_way.discard((claim.id, claim.number))
        return self._of(claim.name)

    def _of(self, name: str) -> Counts:
        return self._counts.setdefault(name, Counts())
