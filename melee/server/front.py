"""`Front`: uvicorn, as this server wants it."""

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import uvicorn
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from melee.web.limits import LimitedProtocol


class Front(uvicorn.Server):
    """Takes in requests until it is told to stop. It has no log of its own, and signals are not its business.

    Args:
        app: of ASGI.
        trusted_proxies: addresses and networks that are believed what they say about a client.
    """

    def __init__(self, app: Any, trusted_proxies: list[str]) -> None:
        logging.getLogger("uvicorn").addHandler(logging.NullHandler())
        logging.getLogger("uvicorn").propagate = False
        config = uvicorn.Config(
            ProxyHeadersMiddleware(app, trusted_proxies) if trusted_proxies else app,
            http=LimitedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
        )
        super().__init__(config)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self, grace_seconds: float) -> None:
        """Accepts no more, and ends when the responses under way are sent, or with the grace time."""
        # asyncio takes a part of a second too, whatever the type says.
        self.config.timeout_graceful_shutdown = grace_seconds  # type: ignore[assignment]
        self.should_exit = True

    def stop_at_once(self) -> None:
        self.force_exit = True
