"""The conversation with a forker: messages arrive whole and in order, each descriptor with its own."""

import os
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest

from melee.processes.control import Asked, Channel, Ended, Failed, Fork, Forked, Kill, Loaded, Told
from tests.melee.processes.forking import descriptors_of


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    """The asking end and the forker's."""
    asking, forker = (Channel(end, reads) for end, reads in zip(socket.socketpair(), (Told, Asked), strict=True))
    yield asking, forker
    asking.close()
    forker.close()


def test_every_message_arrives_as_it_was_sent(ends: tuple[Channel, Channel]) -> None:
    asking, forker = ends
    asking.send(Fork(3))
    asking.send(Kill(17))
    assert forker.receive() == [Fork(3), Kill(17)]
    for told in (Loaded(), Failed("app.py:3: it\nis broken"), Ended(17, -9)):
        forker.send(told)
    assert asking.receive() == [Loaded(), Failed("app.py:3: it\nis broken"), Ended(17, -9)]


def test_a_message_in_two_parts_is_one() -> None:
    ours, theirs = socket.socketpair()
    channel = Channel(ours, Told)
    theirs.sendall(b'{"type":"ended","pid":1,"exit_code":0}\n{"type":"en')
    assert channel.receive() == [Ended(1, 0)]
    theirs.sendall(b'ded","pid":2')
    assert channel.receive() == []
    theirs.sendall(b',"exit_code":0}\n')
    assert channel.receive() == [Ended(2, 0)]
    theirs.close()
    assert channel.receive() is None
    channel.close()


def test_descriptors_come_in_the_order_of_their_messages(ends: tuple[Channel, Channel]) -> None:
    asking, forker = ends
    pipes = [os.pipe() for _ in range(3)]
    for pid, (reading, writing) in enumerate(pipes):
        forker.send(Forked(pid), writing)
        os.close(writing)
        os.set_blocking(reading, False)
    received = 0
    while received < 3:
        received += len(asking.receive() or [])
    for pid, (reading, _writing) in enumerate(pipes):
        descriptor = asking.take_descriptor()
        assert not os.get_inheritable(descriptor)
        os.write(descriptor, bytes([pid]))
        os.close(descriptor)
        assert os.read(reading, 2) == bytes([pid])
        os.close(reading)


def test_a_descriptor_that_nobody_took_is_closed_with_the_channel(ends: tuple[Channel, Channel]) -> None:
    asking, forker = ends
    reading, writing = os.pipe()
    forker.send(Forked(1), writing)
    os.close(writing)
    asking.receive()
    asking.close()
    assert os.read(reading, 1) == b""
    os.close(reading)


def test_nothing_more_is_believed_when_there_is_no_room_for_a_descriptor(ends: tuple[Channel, Channel]) -> None:
    asking, forker = ends
    forker.send(Forked(1), 0)
    with _no_room_for_descriptors():
        assert asking.receive() is None


def test_nothing_yet_is_not_the_end() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    channel = Channel(ours, Told)
    assert channel.receive() == []
    theirs.close()
    assert channel.receive() is None
    with pytest.raises(BrokenPipeError):
        channel.send(Fork(1))
    channel.close()


@contextmanager
def _no_room_for_descriptors() -> Iterator[None]:
    held = descriptors_of(os.getpid())
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next(number for number in count() if number not in held), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
