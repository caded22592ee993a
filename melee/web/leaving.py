"""A client that goes away while its request is being served."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from melee.web.visit import Receive


class ClientLeft(Exception):
    """Nobody waits for the response any more."""


@contextmanager
def interrupted_when_client_leaves(receive: Receive, has_all: Callable[[], bool]) -> Iterator[None]:
    """Inside, whatever the task waits for is given up when the client goes away, and `ClientLeft` is raised. One that
    has all may go.

    What has not been read of the request's body is discarded.
    """
    task = asyncio.current_task()
    assert task
    has_left = is_inside = False

    def leave(watching: asyncio.Task[None]) -> None:
        nonlocal has_left
        if is_inside and not watching.cancelled() and not has_all():
            has_left = True
            task.cancel()

    watch = asyncio.ensure_future(_until_it_leaves(receive))
    watch.add_done_callback(leave)
    is_inside = True
    try:
        yield
    except asyncio.CancelledError:
        if has_left and task.uncancel() == 0:
            raise ClientLeft from None
        raise
    finally:
        is_inside = False
        watch.cancel()


async def _until_it_leaves(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
