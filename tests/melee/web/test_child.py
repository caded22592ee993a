"""A child as the gateway sees it: what it sent counts, and what it did not send is a loss that is told once."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from tempfile import TemporaryFile

import pytest

from melee.web.child import ChildLost, ChildState, NotTaken, RequestChild, Response
from melee.web.exchange import FRAME_BYTES_AT_MOST, REQUEST_HEADER, Head, Kind, frame, head_frame, read_request
from tests.melee.web.served import get
from tests.melee.web.stock import begun, in_loop, whole

HEAD = head_frame(Head(200, [(b"content-type", b"text/plain")]))
REST = frame(Kind.BODY, b"one") + frame(Kind.BODY, b"two")


class Owner:
    """Whoever has the child, and what it hears of it."""

    def __init__(self) -> None:
        self.heard: list[ChildState | str] = []

    def is_done_with(self, child: RequestChild) -> None:
        self.heard.append(child.state)

    def kill(self, _child: RequestChild) -> None:
        self.heard.append("kill")


def with_child(test: Callable[[RequestChild, socket.socket, Owner], Awaitable[None]]) -> None:
    """Runs a test that plays the process of a child."""
    ours, theirs = socket.socketpair()

    async def run() -> None:
        owner = Owner()
        child = RequestChild(17, ours, owner)
        try:
            await test(child, theirs, owner)
        finally:
            child.close()

    with theirs:
        in_loop(run)


def test_a_child_is_given_a_request_and_the_file_with_its_body() -> None:
    async def test(child: RequestChild, process: socket.socket, _owner: Owner) -> None:
        request = get(method="POST", body_bytes=4)
        with TemporaryFile() as body:
            body.write(b"some")
            body.seek(0)
            await child.begin(request, body)
        message, descriptors, _flags, _address = socket.recv_fds(process, 10_000, 4)
        assert read_request(message[REQUEST_HEADER.size :]) == request
        [descriptor] = descriptors
        assert os.read(descriptor, 100) == b"some"
        os.close(descriptor)

    with_child(test)


@pytest.mark.parametrize(("end", "state"), [(Kind.END, ChildState.WAITING), (Kind.LAST_END, ChildState.LEAVING)])
def test_a_child_says_with_the_end_whether_it_stays(end: Kind, state: ChildState) -> None:
    async def test(child: RequestChild, process: socket.socket, owner: Owner) -> None:
        response = await begun(child)
        process.sendall(HEAD + REST)
        assert (await response.head()).headers == [(b"content-type", b"text/plain")]
        assert not response.over.done()
        process.sendall(frame(end))
        assert await whole(response) == b"onetwo"
        await response.over
        assert owner.heard == [state]

    with_child(test)


def test_a_child_that_stays_is_given_the_next_request() -> None:
    async def test(child: RequestChild, process: socket.socket, owner: Owner) -> None:
        for _ in range(3):
            child.state = ChildState.SERVING
            response = await begun(child)
            process.sendall(HEAD + REST + frame(Kind.END))
            assert await whole(response) == b"onetwo"
        assert owner.heard == [ChildState.WAITING] * 3

    with_child(test)


def test_what_a_child_sent_before_its_end_counts_though_the_end_is_heard_first() -> None:
    async def test(child: RequestChild, process: socket.socket, owner: Owner) -> None:
        response = await begun(child)
        process.sendall(HEAD + REST + frame(Kind.LAST_END))
        child.has_ended(0)
        assert await whole(response) == b"onetwo"
        assert owner.heard == [ChildState.LEAVING]

    with_child(test)


def test_the_end_of_a_child_in_the_middle_of_a_response_is_met_after_what_came() -> None:
    async def test(child: RequestChild, process: socket.socket, _owner: Owner) -> None:
        response = await begun(child)
        process.sendall(HEAD + REST)
        child.has_ended(-9)
        assert (await response.head()).status == 200
        assert await response.body.read() == b"one"
        assert await response.body.read() == b"two"
        with pytest.raises(ChildLost, match="request child 17 ended with -9"):
            await response.body.read()
        assert child.state is ChildState.LEAVING

    with_child(test)


@pytest.mark.parametrize("sent", [b"", HEAD[:3], HEAD])
def test_a_connection_that_closes_before_the_end_is_a_child_lost(sent: bytes) -> None:
    async def test(child: RequestChild, process: socket.socket, owner: Owner) -> None:
        response = await begun(child)
        process.recv(10_000)
        process.sendall(sent)
        process.close()
        await response.over
        with pytest.raises(ChildLost) as lost:
            await whole(response)
        assert (lost.value.pid, lost.value.exit_code) == (17, None)
        # It may go on without its connection.
        assert owner.heard == ["kill", ChildState.LEAVING]
        child.has_ended(3)
        assert await child.ended == 3
        assert owner.heard == ["kill", ChildState.LEAVING]

    with_child(test)


def test_a_child_that_hung_up_did_not_take_the_request() -> None:
    async def test(child: RequestChild, process: socket.socket, owner: Owner) -> None:
        process.close()
        with pytest.raises(NotTaken):
            await begun(child)
        assert owner.heard == ["kill", ChildState.LEAVING]

    with_child(test)


def test_a_child_that_left_a_request_unread_did_not_take_it_either() -> None:
    async def test(child: RequestChild, process: socket.socket, _owner: Owner) -> None:
        response = await begun(child)
        # The kernel resets a connection that closes over bytes nobody read.
        process.close()
        await response.over
        with pytest.raises(NotTaken):
            await response.head()

    with_child(test)


def test_a_child_that_is_closed_sees_it() -> None:
    async def test(child: RequestChild, process: socket.socket, _owner: Owner) -> None:
        child.close()
        child.close()
        assert await asyncio.to_thread(process.recv, 1) == b""
        assert child.state is ChildState.LEAVING

    with_child(test)


def test_a_reader_that_gives_up_leaves_a_response_to_come() -> None:
    async def test() -> None:
        response = Response()
        reader = asyncio.create_task(response.head())
        await asyncio.sleep(0)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        response.feed(head_frame(Head(200, [])))
        assert (await response.head()).status == 200

    in_loop(test)


@pytest.mark.parametrize(
    "frames",
    [
        [frame(Kind.BODY, b"early")],
        [frame(Kind.END)],
        [HEAD, HEAD],
        [HEAD, frame(Kind.END), HEAD],
        [HEAD, b"\x09\x00\x00\x00\x00"],
        [b"printed by the app"],
        [b"\x01\x00\x00\x00\x02no"],
        [frame(Kind.HEAD, b"")],
        [head_frame(Head(99, []))],
        [HEAD, frame(Kind.BODY, bytes(FRAME_BYTES_AT_MOST + 1))[:100]],
        [b"\x01rinted by the app"],
    ],
)
def test_a_child_that_sends_what_is_no_response_is_lost(frames: list[bytes]) -> None:
    async def test(child: RequestChild, process: socket.socket, owner: Owner) -> None:
        response = await begun(child)
        process.sendall(b"".join(frames))
        await response.over
        assert owner.heard == ["kill", ChildState.LEAVING]

    with_child(test)
