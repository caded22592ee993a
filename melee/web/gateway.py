"""What stands between visitors and the app: each request gets a slot and a child, or an answer that says why not.

The gateway runs no code of the app. It takes in a whole request before it takes up a slot, and gives the slot back when
the child has written the response, so that a slow client holds neither.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import IO

from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from melee import log
from melee.clock import Clock
from melee.project import WebConfig
from melee.web.body import Body, Gone, TooLarge, discard_rest, whole_body
from melee.web.child import ChildLost, NotTaken, RequestChild, Response
from melee.web.children import Children, ParentLost
from melee.web.exchange import Request
from melee.web.leaving import ClientLeft, interrupted_when_client_leaves
from melee.web.slots import BacklogFull, Slots
from melee.web.visit import Receive, Scope, Send, Visit

START_SECONDS = 30
"""How long a request waits for an app that is asleep to start."""
_TRIES = 5
"""To how many children a request is given of which none takes it. One may be killed at the wrong moment, or go with its
parent; when so many end in a row, so will the next."""
_STATIC = "/static"


class TimedOut(Exception):
    """The child was killed because its request took longer than the budget."""


class Gateway:
    """An ASGI app that has each request served by a child.

    Args:
        awake: gives the children that serve now, and wakes the app when it sleeps; `ParentLost` when it cannot start.
        static: the folder of `/static/`, whose files need no child; it need not be there yet.
    """

    def __init__(self, awake: Callable[[], Awaitable[Children]], config: WebConfig, static: Path, clock: Clock) -> None:
        self._awake, self._clock = awake, clock
        self._budget_seconds = config.budget_seconds
        self._slots = Slots(config.slots, config.backlog)
        self._static = static
        self._files = StaticFiles(directory=static, check_dir=False)
        self._under_way = 0
        self._last_asked_at = clock.elapsed()

    def configure(self, config: WebConfig) -> None:
        """What holds for the requests that come from now on."""
        self._budget_seconds = config.budget_seconds
        self._slots.resize(config.slots, config.backlog)

    @property
    def idle_seconds(self) -> float:
        """How long no request has needed the app."""
        return 0 if self._under_way else self._clock.elapsed() - self._last_asked_at

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit = Visit(scope, send, self._clock)
        try:
            if not await self._serve_file(visit, receive):
                await self._serve(visit, receive)
        except asyncio.CancelledError:
            # The server ends, and this took longer than the grace time.
            await visit.refuse(503)
        except Exception as error:  # noqa: BLE001 - a fault of ours must not go unseen, nor take the server with it
            log.gateway_failed(visit.id, error)
            await visit.refuse(500)
        finally:
            visit.end()

    async def _serve_file(self, visit: Visit, receive: Receive) -> bool:
        """Answers with a static file; returns False when there is no such one, which is up to the app then."""
        if not visit.scope["path"].startswith(f"{_STATIC}/") or not self._static.is_dir():
            return False
        try:
            await self._files({**visit.scope, "root_path": _STATIC}, receive, visit.send)
        except HTTPException:
            return False
        return True

    async def _serve(self, visit: Visit, receive: Receive) -> None:
        self._under_way += 1
        try:
            with closing(await whole_body(visit.scope, receive)) as body:
                with interrupted_when_client_leaves(receive):
                    await self._serve_by_a_child(visit, body)
                await visit.finish()
        except TooLarge:
            await visit.refuse(413, before_end=lambda: discard_rest(receive))
        except BacklogFull:
            await visit.refuse(503)
        except ParentLost as lost:
            log.app_unavailable(visit.id, str(lost))
            await visit.refuse(503)
        except TimedOut:
            await visit.refuse(504)
        except (ChildLost, NotTaken) as lost:
            log.request_lost(visit.id, lost.pid, str(lost))
            await visit.refuse(502)
        except (Gone, ClientLeft):
            visit.has_left = True
        finally:
            self._under_way -= 1
            self._last_asked_at = self._clock.elapsed()

    async def _serve_by_a_child(self, visit: Visit, body: Body) -> None:
        tries_left = _TRIES
        while True:
            await self._slots.take()
            tries_left -= 1
            try:
                return await self._relay(visit, await self._begin(visit, body))
            except NotTaken:
                if not tries_left:
                    raise

    async def _begin(self, visit: Visit, body: Body) -> "_Underway":
        """Hands the request to a child, for the slot that was taken."""
        try:
            async with asyncio.timeout(START_SECONDS):
                child, response = await self._hand_over(visit.request(body), body.file)
        except BaseException as error:
            self._slots.give_back()
            if isinstance(error, TimeoutError):
                raise ParentLost(f"it did not start within {START_SECONDS} s") from None
            raise
        response.over.add_done_callback(lambda _over: self._slots.give_back())
        return _Underway(child, response, self._budget_seconds)

    async def _hand_over(self, request: Request, body: IO[bytes] | None) -> tuple[RequestChild, Response]:
        while True:
            children = await self._awake()
            try:
                child = await children.take()
            except ParentLost:
                # It ended while the request waited. There is another, or `awake` says why not.
                continue
            return child, await child.begin(request, body)

    async def _relay(self, visit: Visit, underway: "_Underway") -> None:
        with underway:
            try:
                head = await underway.response.head()
                await visit.begin(head)
                while not visit.is_whole and (part := await underway.response.body.read()):
                    await visit.write(part)
                underway.is_wanted = False
            except ChildLost as lost:
                raise await underway.what_became_of(lost) from None


class _Underway:
    """A request in a child: it ends with its budget, or when nobody waits for its response any more."""

    def __init__(self, child: RequestChild, response: Response, budget_seconds: float) -> None:
        self._child, self.response = child, response
        self.is_wanted = True
        self._is_out_of_time = False
        self._timer = asyncio.get_running_loop().call_later(budget_seconds, self._run_out)
        response.over.add_done_callback(lambda _over: self._timer.cancel())

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_error: object) -> None:
        # With the response whole, the child may still have something to close; its client need not wait for that.
        if self.is_wanted and not self.response.over.done():
            self._child.kill()
        self.response.body.close()

    async def what_became_of(self, lost: ChildLost) -> Exception:
        """Why the child was lost, when it and all that it started are gone."""
        exit_code = await asyncio.shield(self._child.ended)
        return TimedOut() if self._is_out_of_time else ChildLost(lost.pid, exit_code)

    def _run_out(self) -> None:
        self._is_out_of_time = True
        self._child.kill()
