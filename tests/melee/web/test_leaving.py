"""A client that leaves interrupts what is done for it, and nothing else is taken for its leaving."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import pytest

from melee.web.leaving import ClientLeft, interrupted_when_client_leaves
from tests.melee.web.stock import in_loop


class Client:
    """The other end of a connection, as ASGI shows it."""

    def __init__(self) -> None:
        self._messages: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()

    def says(self, kind: str) -> None:
        self._messages.put_nowait({"type": kind})

    async def receive(self) -> MutableMapping[str, Any]:
        return await self._messages.get()


def has_nothing() -> bool:
    return False


def with_client(test: Callable[[Client], Awaitable[None]]) -> None:
    async def run() -> None:
        await test(Client())

    in_loop(run)


def test_what_is_waited_for_is_given_up_when_the_client_leaves() -> None:
    async def test(client: Client) -> None:
        client.says("http.disconnect")
        with pytest.raises(ClientLeft):
            await _work_without_end(client)
        task = asyncio.current_task()
        assert task
        # What is done next is not interrupted.
        assert task.cancelling() == 0
        await asyncio.sleep(0)

    with_client(test)


def test_what_else_a_client_says_is_no_leaving() -> None:
    async def test(client: Client) -> None:
        with interrupted_when_client_leaves(client.receive, has_nothing):
            for _ in range(3):
                client.says("http.request")
                await asyncio.sleep(0)
        await asyncio.sleep(0)
        # And nobody listens to it any more.
        assert asyncio.all_tasks() == {asyncio.current_task()}

    with_client(test)


def test_a_client_that_leaves_afterwards_interrupts_nothing() -> None:
    async def test(client: Client) -> None:
        with interrupted_when_client_leaves(client.receive, has_nothing):
            await asyncio.sleep(0)
        client.says("http.disconnect")
        for _ in range(3):
            await asyncio.sleep(0)

    with_client(test)


def test_a_client_that_has_all_may_leave() -> None:
    async def test(client: Client) -> None:
        with interrupted_when_client_leaves(client.receive, lambda: True):
            client.says("http.disconnect")
            for _ in range(3):
                await asyncio.sleep(0)

    with_client(test)


def test_a_client_that_leaves_at_the_same_moment_interrupts_nothing() -> None:
    async def test(_client: Client) -> None:
        is_done = asyncio.Event()

        async def receive() -> MutableMapping[str, Any]:
            # What is waited for is there before anybody hears of the leaving.
            is_done.set()
            return {"type": "http.disconnect"}

        with interrupted_when_client_leaves(receive, has_nothing):
            await is_done.wait()
        for _ in range(3):
            await asyncio.sleep(0)

    with_client(test)


def test_an_error_is_what_it_is() -> None:
    async def test(client: Client) -> None:
        with pytest.raises(ValueError, match="x"), interrupted_when_client_leaves(client.receive, has_nothing):
            raise ValueError("x")

    with_client(test)


@pytest.mark.parametrize("leaves_too", [False, True])
def test_one_who_is_cancelled_is_cancelled_whether_the_client_leaves_or_not(leaves_too: bool) -> None:
    async def test(client: Client) -> None:
        task = asyncio.create_task(_work_without_end(client))
        for _ in range(3):
            await asyncio.sleep(0)
        if leaves_too:
            client.says("http.disconnect")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with_client(test)


def test_a_time_limit_around_it_is_met() -> None:
    async def test(client: Client) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(_work_without_end(client), timeout=0.01)

    with_client(test)


async def _work_without_end(client: Client) -> None:
    with interrupted_when_client_leaves(client.receive, has_nothing):
        await asyncio.Event().wait()
