"""Orders to a server through its socket."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from melee.errors import BadInput, NotRunning
from melee.server import orders
from melee.server.orders import order_reload, order_wake, taking_orders


async def nobody_asked() -> None:
    raise AssertionError("nobody ordered it")


def ordered(path: Path, reload: Callable[[], Awaitable[str]]) -> None:
    """Has somebody order a reload of a server that does it like this."""

    async def serve() -> None:
        async with asyncio.timeout(30), taking_orders(path, reload, nobody_asked):
            await asyncio.to_thread(order_reload, path)

    asyncio.run(serve())


def answer_to(order: bytes, path: Path) -> bytes:
    """All that comes back from a server to whom this is said, while the connection stays open."""

    async def reload() -> str:
        raise AssertionError("nobody ordered it")

    async def serve() -> bytes:
        async with asyncio.timeout(30), taking_orders(path, reload, nobody_asked):
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(order)
            answer = await reader.read()
            writer.close()
            return answer

    return asyncio.run(serve())


def test_an_order_is_done_before_it_is_answered(tmp_path: Path) -> None:
    done = []

    async def reload() -> str:
        done.append("reload")
        return ""

    ordered(tmp_path / "orders", reload)
    assert done == ["reload"]
    assert not (tmp_path / "orders").exists()


def test_what_went_wrong_is_said(tmp_path: Path) -> None:
    async def reload() -> str:
        return "app.py does not load"

    with pytest.raises(BadInput, match=r"the old version goes on: app\.py does not load"):
        ordered(tmp_path / "orders", reload)


def test_a_socket_that_a_killed_server_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "orders"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))

    async def reload() -> str:
        return ""

    with pytest.raises(NotRunning):
        order_reload(path)
    ordered(path, reload)


def test_nobody_else_may_give_orders(tmp_path: Path) -> None:
    async def reload() -> str:
        assert (tmp_path / "orders").stat().st_mode & 0o777 == 0o600
        return ""

    ordered(tmp_path / "orders", reload)


def test_an_order_that_is_none_is_not_answered(tmp_path: Path) -> None:
    assert answer_to(b"dance\n", tmp_path / "orders") == b""


def test_a_server_that_does_not_answer_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "_ANSWER_SECONDS_AT_MOST", 0.1)
    with socket.socket(socket.AF_UNIX) as stopped:
        stopped.bind(str(tmp_path / "orders"))
        stopped.listen()
        with pytest.raises(BadInput, match=r"^the server has not answered within 0\.1 s; its log says what it does$"):
            order_reload(tmp_path / "orders")


def test_whoever_comes_without_an_order_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "_ORDER_SECONDS_AT_MOST", 0.1)
    assert answer_to(b"", tmp_path / "orders") == b""


@pytest.mark.parametrize("reads_the_order", [True, False])
def test_a_server_that_ends_meanwhile_is_said(tmp_path: Path, reads_the_order: bool) -> None:
    path = tmp_path / "orders"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        async def end() -> None:
            ordering = asyncio.create_task(asyncio.to_thread(order_reload, path))
            connection, _address = await asyncio.to_thread(server.accept)
            with connection:
                # The kernel says that the other side is gone in another way when it has not read.
                await asyncio.to_thread(connection.recv, 100, 0 if reads_the_order else socket.MSG_PEEK)
            await ordering

        with pytest.raises(BadInput, match="the server ended before it had loaded the app anew"):
            asyncio.run(asyncio.wait_for(end(), 30))


def test_an_app_is_woken_before_that_is_answered(tmp_path: Path) -> None:
    woken: list[bool] = []

    async def wake() -> None:
        woken.append(True)

    async def reload() -> str:
        raise AssertionError("nobody ordered it")

    async def serve() -> bool:
        async with asyncio.timeout(30), taking_orders(tmp_path / "orders", reload, wake):
            return await asyncio.to_thread(order_wake, tmp_path / "orders")

    assert asyncio.run(serve())
    assert woken == [True]
    assert not order_wake(tmp_path / "orders")
