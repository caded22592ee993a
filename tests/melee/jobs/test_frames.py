"""Tests for `melee.jobs.frames`."""

import os
import socket
from collections.abc import Iterator

import pytest

from melee.jobs.frames import Begin, Board, Failed, Order, Ran, Run, Told, Unpacker, packed
from tests.melee.child import child_that


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_messages_arrive_whatever_pieces_they_come_in(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    theirs.setblocking(False)
    unpacker: Unpacker[Told] = Unpacker(Told)
    messages: list[Told] = [Begin(3), Run([Order(1, "mail", "é" * 100, 2), Order(2, "mail", "", 1)]), Begin(4)]
    sent = b"".join([packed(message) for message in messages])
    received: list[Told] = []
    for at in range(0, len(sent), 7):
        ours.sendall(sent[at : at + 7])
        received += unpacker.receive(theirs) or []
    assert received == messages
    assert unpacker.receive(theirs) == []
    ours.close()
    assert unpacker.receive(theirs) is None


def test_several_messages_arrive_at_once(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    ours.sendall(packed(Failed(1, "no", is_final=True)) + packed(Ran([0.5, None])))
    assert Unpacker(Failed | Ran).receive(theirs) == [Failed(1, "no", True), Ran([0.5, None])]


def test_a_board_is_shared_with_a_fork() -> None:
    board = Board(2)
    board.clear(0)
    board.clear(1)

    def work() -> None:
        assert board.begin(1, 1, 5.0)
        board.end(1, 1)
        assert board.begin(1, 2, 6.0)

    with child_that(work):
        pass
    assert (board.read(0), board.read(1)) == ((0, 0, 0.0), (2, 1, 6.0))


def test_a_number_is_never_read_in_halves() -> None:
    board = Board(1)
    board.clear(0)
    theirs, ours = os.pipe()

    def count() -> None:
        # The numbers around these have other bytes.
        for number in range(1, 300_000):
            board.begin(0, number, float(number))
            board.end(0, number)
        os.write(ours, b".")

    with child_that(count):
        last = 0
        while last < 299_999:
            begun, ended, began_at = board.read(0)
            assert last <= begun
            assert ended in (begun, begun - 1)
            assert began_at in (begun, begun + 1)
            last = begun
    os.read(theirs, 1)
    os.close(theirs)
    os.close(ours)


def test_nothing_begins_after_a_stop_and_what_was_begun_is_counted() -> None:
    board = Board(1)
    board.clear(0)
    assert board.begin(0, 1, 0)
    assert board.stop_after_begun(0) == (1, 1)
    board.end(0, 1)
    assert not board.begin(0, 2, 0)
    board.lift(0)
    assert board.begin(0, 3, 0)


def test_of_many_stops_none_lets_a_job_begin_that_was_taken_back() -> None:
    board, said = Board(1), Board(1)
    board.clear(0)
    said.clear(0)

    def work() -> None:
        for number in range(1, 10_000_000):
            if not board.begin(0, number, 0):
                return
            # The last one that it ran.
            said.end(0, number)

    for _round in range(30):
        board.clear(0)
        said.clear(0)
        with child_that(work):
            while board.read(0)[0] < 1000:
                pass
            surely, perhaps = board.stop_after_begun(0)
        ran = said.read(0)[1]
        assert surely <= ran <= perhaps
