"""`Console`: a WSGI app in front of the one under development, for the paths below `/_melee/`."""

import logging
import re
import secrets
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from werkzeug.wrappers import Request, Response

from melee.console.guard import Guard
from melee.console.orders import carried_out, discard, retry, retry_all
from melee.console.page import Page
from melee.jobs.store import Store
from melee.web.app import App

ROOT = "/_melee/"
_STATIC = Path(__file__).with_name("static")
_FILES = {"console.css": "text/css", "console.js": "text/javascript"}
_ORDER_ON_ONE = re.compile(r"jobs/([0-9]{1,18})/(retry|discard)")
_SAID_AT_MOST = 50
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Without a referrer at all, a browser would hide where the forms of this very page are sent from.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}

_WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Console:
    """Answers what is below `/_melee/`, and gives the rest to the app. Nothing of the app has a part in its answers.

    Args:
        served: what answers everything else, such as the app with a debugger around it.
        app: the app itself.
        host: what the server was told to listen on.
    """

    def __init__(self, served: _WsgiApp, app: object, host: str) -> None:
        self._served, self._guard, self._page = served, Guard(host), Page(app)
        self._project = app.project if isinstance(app, App) else None
        self._said: dict[str, str] = {}
        logging.getLogger("werkzeug").addFilter(_is_worth_a_line)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path != ROOT.rstrip("/") and not path.startswith(ROOT):
            return self._served(environ, start_response)
        answer = self._answer(Request(environ), path)
        answer.headers.update(_HEADERS)
        return answer(environ, start_response)

    def _answer(self, request: Request, path: str) -> Response:
        if refusal := self._guard.refusal(request.environ):
            return Response(f"403: {refusal}\n", 403)
        if not path.startswith(ROOT):
            return _see(ROOT)
        name = path.removeprefix(ROOT)
        if order := self._order(name):
            return self._obey(order) if request.method == "POST" else _only("POST")
        if name and name not in _FILES:
            return Response("404: the console has no such page\n", 404)
        if request.method not in ("GET", "HEAD"):
            return _only("GET")
        if name:
            return Response((_STATIC / name).read_bytes(), content_type=f"{_FILES[name]}; charset=utf-8")
        said = self._said.get(request.args.get("said", ""), "")
        return Response(self._page.html(said), content_type="text/html; charset=utf-8")

    def _order(self, name: str) -> Callable[[Store], str] | None:
        if name == "jobs/retry":
            return retry_all
        if found := _ORDER_ON_ONE.fullmatch(name):
            return partial(retry if found[2] == "retry" else discard, id=int(found[1]))
        return None

    def _obey(self, order: Callable[[Store], str]) -> Response:
        """Carries an order out, and sends the browser to a page that says what came of it and can be loaded again."""
        said = carried_out(self._project, order) if self._project else "Nothing was done. This app has no jobs."
        key = secrets.token_urlsafe(8)
        self._said[key] = said
        while len(self._said) > _SAID_AT_MOST:
            del self._said[next(iter(self._said))]
        return _see(f"{ROOT}?said={key}#said")


def _see(location: str) -> Response:
    return Response(f"See {location}\n", 303, {"Location": location})


def _only(method: str) -> Response:
    return Response(f"405: use {method}\n", 405, {"Allow": "GET, HEAD" if method == "GET" else method})


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """A page that is open asks every two seconds; what the app is asked must not drown in that."""
    return f"GET {ROOT}" not in record.getMessage()
