"""Orders to a running server, through a Unix socket in its data folder: one line in, one line out."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import msgspec

from melee.errors import BadInput, NotRunning

_RELOAD, _WAKE = b"reload\n", b"wake\n"
_ORDER_SECONDS_AT_MOST = 10
# Each of several reloads that wait for one another may load for a minute, and let old calls end.
_ANSWER_SECONDS_AT_MOST = 600


class Answer(msgspec.Struct):
    """What came of an order; `problem` is one line, or empty when it was done."""

    problem: str = ""


@contextlib.asynccontextmanager
async def taking_orders(
    path: Path, reload: Callable[[], Awaitable[str]], wake: Callable[[], Awaitable[None]]
) -> AsyncIterator[None]:
    """Inside, `melee reload` reaches this server, and so does whoever stores jobs that it does not know of.

    Args:
        path: of the socket; one that a killed server left is replaced, which the lock of the folder makes safe.
        reload: does it; returns what went wrong.
        wake: wakes the app, if it sleeps.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_ORDER_SECONDS_AT_MOST):
                order = await reader.readline()
            if order == _RELOAD:
                writer.write(msgspec.json.encode(Answer(await reload())) + b"\n")
                await writer.drain()
            elif order == _WAKE:
                await wake()
                writer.write(msgspec.json.encode(Answer()) + b"\n")
                await writer.drain()
        except (ConnectionError, TimeoutError):
            # Whoever ordered it does not wait for the answer, or never said what.
            pass
        finally:
            writer.close()

    path.unlink(missing_ok=True)
    server = await asyncio.start_unix_server(serve, path)
    path.chmod(0o600)
    try:
        yield
    finally:
        server.close()
        path.unlink(missing_ok=True)


def order_reload(path: Path) -> None:
    """Has the server behind a socket load its app anew, and waits until that is done.

    Raises:
        NotRunning: no server listens there.
        BadInput: it cannot be loaded, and the old version goes on; or there is no answer.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_ANSWER_SECONDS_AT_MOST)
        try:
            connection.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            raise NotRunning(str(path.parent)) from None
        try:
            line = _answer(connection, _RELOAD)
        except TimeoutError:
            problem = f"the server has not answered within {_ANSWER_SECONDS_AT_MOST} s; its log says what it does"
            raise BadInput(problem) from None
    if not line:
        raise BadInput("the server ended before it had loaded the app anew; its log says why")
    answer = msgspec.json.decode(line, type=Answer)
    if answer.problem:
        raise BadInput(f"the old version goes on: {answer.problem}")


def order_wake(path: Path) -> bool:
    """Has the server behind a socket wake its app, so that its workers see what was stored meanwhile.

    Returns False when no server listens there: then nobody sleeps, and the next one to start looks anyway.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_ORDER_SECONDS_AT_MOST)
        try:
            connection.connect(str(path))
            return bool(_answer(connection, _WAKE))
        except (FileNotFoundError, ConnectionRefusedError, TimeoutError):
            return False


def _answer(connection: socket.socket, order: bytes) -> bytes:
    """The line that comes back; empty when the server ends first."""
    with contextlib.suppress(ConnectionError), connection.makefile("rwb") as lines:
        lines.write(order)
        lines.flush()
        return lines.readline()
    return b""
