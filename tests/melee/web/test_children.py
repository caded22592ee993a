"""Children are forked ahead, taken one for each request, and replaced; and let to their end when they retire."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from melee.processes.control import Ended, Forked
from melee.web.children import ParentLost
from melee.web.request_child import serve_requests
from tests.melee.processes.forking import children_of, exit_code_of
from tests.melee.web.served import says
from tests.melee.web.stock import Gate, Observed, answer, begun, whole, with_children


def test_children_wait_before_anybody_asks_and_one_that_was_taken_is_replaced() -> None:
    async def test(children: Observed, parent: int) -> None:
        spares = {(await children.hears(Forked)).pid for _ in range(3)}
        assert set(children_of(parent)) == spares
        taken = await children.take()
        assert taken.pid in spares
        replacement = (await children.hears(Forked)).pid
        assert set(children_of(parent)) == spares | {replacement}

    with_children(test, spares=3)


def test_each_request_has_a_child_of_its_own() -> None:
    async def test(children: Observed, _parent: int) -> None:
        assert len({await answer(children) for _ in range(5)}) == 5

    with_children(test)


@pytest.mark.slow
def test_a_burst_of_requests_is_served_each_by_a_child_of_its_own() -> None:
    async def test(children: Observed, _parent: int) -> None:
        assert len(set(await asyncio.gather(*(answer(children) for _ in range(40))))) == 40

    with_children(test, spares=4)


def test_children_that_stay_are_never_more_than_their_number(tmp_path: Path) -> None:
    async def test(children: Observed, parent: int) -> None:
        served = set(await asyncio.gather(*(answer(children) for _ in range(20))))
        assert served <= set(children_of(parent))
        # The second one may still be on its way.
        assert len(children_of(parent)) <= 2
        # A third request waits for one of them.
        with Gate(tmp_path / "gate") as gate:
            waiting = [asyncio.create_task(answer(children, "/wait", gate.path)) for _ in range(3)]
            calls = [await gate.called() for _ in range(2)]
            assert len(children_of(parent)) == 2
            calls[0][0].close()
            calls.append(await gate.called())
            for call, _pid in calls:
                call.close()
            assert set(await asyncio.gather(*waiting)) == set(children_of(parent))

    with_children(test, spares=2, per_child=0)


def test_a_child_that_has_served_its_requests_is_replaced() -> None:
    async def test(children: Observed, _parent: int) -> None:
        pids = [await answer(children) for _ in range(7)]
        assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [3, 3, 1]

    with_children(test, spares=1, per_child=3)


def test_a_child_that_dies_while_it_waits_is_replaced_and_never_given_out() -> None:
    async def test(children: Observed, parent: int) -> None:
        dead, *_others = [(await children.hears(Forked)).pid for _ in range(2)]
        os.kill(dead, signal.SIGKILL)
        assert (await children.hears(Ended)).pid == dead
        await children.hears(Forked)
        assert len(children_of(parent)) == 2
        assert dead not in {await answer(children) for _ in range(4)}

    with_children(test)


def test_children_that_die_at_once_are_not_forked_as_fast_as_they_die() -> None:
    async def test(children: Observed, _parent: int) -> None:
        loop = asyncio.get_running_loop()
        began_at = loop.time()
        for _ in range(3):
            await children.hears(Ended)
        assert loop.time() - began_at >= 0.45

    with_children(test, spares=1, work=lambda _connection: os._exit(1))


def test_a_request_that_is_given_up_takes_no_child_with_it(tmp_path: Path) -> None:
    async def test(children: Observed, _parent: int) -> None:
        with Gate(tmp_path / "gate") as gate:
            serving = await begun(await children.take(), "/wait", gate.path)
            first, second, third = (asyncio.create_task(answer(children)) for _ in range(3))
            call, _pid = await gate.called()
            first.cancel()
            call.close()
            await serving.over
            # Its child is there for it, and it is given up before it has looked.
            second.cancel()
            assert await third == int(await whole(serving))
            assert [task.cancelled() for task in (first, second)] == [True, True]

    with_children(test, spares=1, per_child=0)


def test_those_that_serve_end_after_their_response_when_they_retire_and_the_parent_after_them(tmp_path: Path) -> None:
    async def test(children: Observed, parent: int) -> None:
        for _ in range(2):
            await children.hears(Forked)
        with Gate(tmp_path / "gate") as gate:
            child = await children.take()
            serving = await begun(child, "/wait", gate.path)
            call, _pid = await gate.called()
            children.retire()
            with pytest.raises(ParentLost, match="it takes no more requests"):
                await children.take()
            # Those that waited end at once.
            for _ in range(2):
                assert (await children.hears(Ended)).exit_code == 0
            assert not children.lost.done()
            call.close()
            assert int(await whole(serving)) == child.pid
        assert await children.lost == "it has nothing more to serve"
        assert await child.ended == 0
        assert await asyncio.to_thread(exit_code_of, parent) == 0

    with_children(test)


def test_one_that_has_answered_may_come_to_its_end_when_they_retire(tmp_path: Path) -> None:
    with Gate(tmp_path / "gate") as gate:

        def serve_and_linger(connection: socket.socket) -> None:
            served = list[object]()

            def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
                served.append(environ)
                return says("here")(environ, start_response)

            serve_requests(app, connection, 1)
            if not served:
                return
            with socket.socket(socket.AF_UNIX) as caller:
                caller.connect(gate.path)
                caller.sendall(b"0")
                caller.recv(1)

        async def test(children: Observed, _parent: int) -> None:
            child = await children.take()
            await whole(await begun(child))
            call, _pid = await gate.called()
            children.retire()
            # The one that waited.
            await children.hears(Ended)
            assert not children.lost.done()
            call.close()
            await children.lost
            assert await child.ended == 0

        with_children(test, spares=1, work=serve_and_linger)


def test_those_that_stay_end_after_their_response_too_when_they_retire(tmp_path: Path) -> None:
    async def test(children: Observed, _parent: int) -> None:
        with Gate(tmp_path / "gate") as gate:
            child = await children.take()
            serving = await begun(child, "/wait", gate.path)
            call, _pid = await gate.called()
            children.retire()
            call.close()
            assert int(await whole(serving)) == child.pid
        assert await children.lost == "it has nothing more to serve"
        assert await child.ended == 0

    with_children(test, spares=1, per_child=0)


def test_a_request_that_waits_for_a_child_is_turned_away_when_they_retire(tmp_path: Path) -> None:
    async def test(children: Observed, _parent: int) -> None:
        with Gate(tmp_path / "gate") as gate:
            serving = await begun(await children.take(), "/wait", gate.path)
            call, _pid = await gate.called()
            waiting = [asyncio.create_task(children.take()) for _ in range(2)]
            children.retire()
            for refused in await asyncio.gather(*waiting, return_exceptions=True):
                assert isinstance(refused, ParentLost)
            call.close()
            await whole(serving)

    with_children(test, spares=1, per_child=0)


def test_one_that_is_asked_for_when_they_retire_ends_as_it_comes() -> None:
    async def test(children: Observed, parent: int) -> None:
        await children.loaded
        # It is asked for, and has not come.
        children.retire()
        assert await children.lost == "it has nothing more to serve"
        assert await asyncio.to_thread(exit_code_of, parent) == 0

    with_children(test)
