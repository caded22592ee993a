"""What is said of a child or a parent that is lost, and that nothing of them stays or holds up another request."""

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from melee.processes.control import Asked, Channel, Ended, Failed, Forked, Loaded
from melee.web.child import ChildLost, NotTaken
from melee.web.children import Children, ParentLost
from tests.melee.processes.forking import exit_code_of, is_running, wait_for_end
from tests.melee.web.served import get
from tests.melee.web.stock import Gate, Observed, answer, begun, in_loop, whole, with_children

# Higher than any system counts.
_NO_PROCESS = 2**30


def test_a_child_that_is_killed_with_all_that_it_started_is_lost(tmp_path: Path) -> None:
    async def test(children: Observed, _parent: int) -> None:
        with Gate(tmp_path / "gate") as gate:
            child = await children.take()
            response = await begun(child, "/hang", gate.path)
            call, left = await gate.called()
            call.close()
            child.kill()
            with pytest.raises(ChildLost, match=f"request child {child.pid} ended with"):
                await response.head()
            with pytest.raises(ChildLost):
                await response.body.read()
            assert await child.ended == -signal.SIGKILL
            assert response.over.done()
            await asyncio.to_thread(wait_for_end, left)
            assert await answer(children)

    with_children(test)


def test_what_left_the_group_of_a_child_does_not_hold_up_the_end_of_its_response(tmp_path: Path) -> None:
    async def test(children: Observed, _parent: int) -> None:
        with Gate(tmp_path / "gate") as gate:
            child = await children.take()
            response = await begun(child, "/leave", gate.path)
            call, left = await gate.called()
            call.close()
            try:
                with pytest.raises(ChildLost) as lost:
                    await response.head()
                await response.over
                assert (lost.value.exit_code, await child.ended) == (3, 3)
                # It has the other end of the connection still.
                assert is_running(left)
            finally:
                os.kill(left, signal.SIGKILL)

    with_children(test)


def test_a_child_that_hangs_up_and_goes_on_is_killed() -> None:
    async def test(children: Observed, _parent: int) -> None:
        child = await children.take()
        response = await begun(child, "/hang-up")
        with pytest.raises(ChildLost):
            await response.head()
        assert await child.ended == -signal.SIGKILL

    with_children(test, per_child=0)


def test_a_child_that_died_before_it_was_given_a_request_did_not_take_it() -> None:
    async def test(children: Observed, _parent: int) -> None:
        child = await children.take()
        os.kill(child.pid, signal.SIGKILL)
        # Nobody has heard of it yet.
        wait_for_end(child.pid)
        with pytest.raises(NotTaken):
            await begun(child)
        assert await child.ended == -signal.SIGKILL
        assert await answer(children) != child.pid

    with_children(test)


def test_a_child_that_died_is_not_given_out_though_nobody_has_heard_of_it() -> None:
    async def test(children: Observed, _parent: int) -> None:
        dead = await children.hears(Forked)
        os.kill(dead.pid, signal.SIGKILL)
        wait_for_end(dead.pid)
        child = await children.take()
        assert child.pid != dead.pid
        assert await whole(await begun(child)) == str(child.pid).encode()

    with_children(test, spares=1)


def test_a_child_that_is_given_a_part_of_a_request_is_killed() -> None:
    async def test(children: Observed, _parent: int) -> None:
        child = await children.take()
        os.kill(child.pid, signal.SIGSTOP)
        large = get(body=bytes(10_000_000), body_bytes=10_000_000)
        giving = asyncio.create_task(begun(child, request=large))
        await asyncio.wait([giving], timeout=0.1)
        giving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await giving
        assert await child.ended == -signal.SIGKILL
        assert await answer(children) != child.pid

    with_children(test)


def test_a_request_that_is_larger_than_a_socket_takes_arrives_whole() -> None:
    async def test(children: Observed, _parent: int) -> None:
        child = await children.take()
        response = await begun(child, request=get(body=bytes(10_000_000), body_bytes=10_000_000))
        assert int(await whole(response)) == child.pid

    with_children(test)


def test_who_waits_and_who_is_served_is_told_when_the_parent_is_killed(tmp_path: Path) -> None:
    async def test(children: Observed, parent: int) -> None:
        with Gate(tmp_path / "gate") as gate:
            child = await children.take()
            response = await begun(child, "/hang", gate.path)
            call, left = await gate.called()
            call.close()
            waiting = [asyncio.create_task(children.take()) for _ in range(2)]
            os.kill(parent, signal.SIGKILL)
            for told in await asyncio.gather(*waiting, return_exceptions=True):
                assert isinstance(told, ParentLost)
                assert str(told) == "the request parent ended"
            with pytest.raises(ChildLost):
                await response.head()
            assert await child.ended == -signal.SIGKILL
            assert await children.lost == "the request parent ended"
            # The parent could not end what its child had started.
            await asyncio.to_thread(wait_for_end, child.pid, left)

    with_children(test, spares=1, per_child=0)


def test_nothing_is_left_of_a_parent_whose_end_is_seen_elsewhere_first(tmp_path: Path) -> None:
    async def test(children: Observed, parent: int) -> None:
        with Gate(tmp_path / "gate") as gate:
            response = await begun(await children.take(), "/hang", gate.path)
            call, left = await gate.called()
            call.close()
            os.kill(parent, signal.SIGKILL)
            exit_code_of(parent)
            children.close()
            with pytest.raises(ChildLost):
                await response.head()
            await asyncio.to_thread(wait_for_end, left)

    with_children(test)


def test_a_parent_that_cannot_load_its_app_says_why_to_everybody() -> None:
    async def test(children: Children, parent: Channel) -> None:
        waiting = asyncio.create_task(children.take())
        parent.send(Failed("app.py:3: it is broken"))
        for wait in (children.loaded, waiting):
            with pytest.raises(ParentLost, match=r"app\.py:3: it is broken"):
                await wait
        assert await children.lost == "app.py:3: it is broken"
        assert parent.receive() is None

    _with_parent(test)


def test_nothing_that_comes_with_the_end_is_looked_at() -> None:
    async def test(children: Children, parent: Channel) -> None:
        ours = _fork(parent)
        await children.take()
        # In one piece, so that both are read at once.
        last = b"".join(msgspec.json.encode(told) + b"\n" for told in (Failed("x"), *[Ended(_NO_PROCESS, 0)] * 2))
        os.write(parent.fileno(), last)
        assert await children.lost == "x"
        assert ours.recv(1) == b""
        ours.close()

    _with_parent(test)


def test_a_parent_that_hangs_up_is_noticed_when_it_is_asked() -> None:
    async def test(children: Children, parent: Channel) -> None:
        with _fork(parent):
            child = await children.take()
            parent.close()
            child.kill()
        assert children.lost.result().startswith("it does not answer (")
        with pytest.raises(ParentLost, match="it does not answer"):
            await children.take()

    _with_parent(test)


def test_a_child_that_is_taken_as_its_parent_ends_gets_no_request() -> None:
    async def test(children: Children, parent: Channel) -> None:
        ours = _fork(parent)
        await children.loaded
        # Nobody has heard of the end when the child is taken; to ask for its replacement shows it.
        parent.close()
        taken = await children.take()
        assert children.lost.done()
        with pytest.raises(NotTaken):
            await begun(taken)
        ours.close()

    _with_parent(test)


def _fork(parent: Channel) -> socket.socket:
    """Plays a parent that has loaded its app and forked its first child; returns that child's connection."""
    ours, theirs = socket.socketpair()
    with theirs:
        parent.send(Loaded())
        parent.send(Forked(_NO_PROCESS), theirs.fileno())
    return ours


def _with_parent(test: Callable[[Children, Channel], Awaitable[None]]) -> None:
    """Runs a test that plays the parent itself."""
    ours, theirs = socket.socketpair()
    parent = Channel(theirs, Asked)

    async def run() -> None:
        children = Children(ours, 1, stay=False)
        try:
            await test(children, parent)
        finally:
            children.close()

    try:
        in_loop(run)
    finally:
        parent.close()
