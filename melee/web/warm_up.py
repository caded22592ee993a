"""What the request parent does once, so that not every child has to: imports, templates, and code that has run before.

A child shares the memory of its parent until it writes there. Python writes into code that runs for the first time,
and imports some modules only then; a child that is to serve one request does both in vain.
"""

import codecs
import contextlib
import socket

from flask import Flask, render_template_string

from melee.web.exchange import Request, request_message
from melee.web.request_child import serve_requests
from melee.web.target import WsgiApp

_RUNS = 10
"""CPython 3.11 to 3.14 adapt code to what it works on after at most so many runs."""


def warm_up(app: WsgiApp) -> None:
    """Prepares this process for serving an app, without a request to it. Of the app's own code runs what Jinja calls to
    compile a template: its loader and extensions, and a filter of a constant."""
    # The name of the host is looked at through it.
    codecs.lookup("idna")
    if isinstance(app, Flask):
        _prepare(app)
    _run_requests(_rehearsal())


def _prepare(app: Flask) -> None:
    """Compiles the routes and templates of an app."""
    app.url_map.update()
    # Whoever renders a template is told what is wrong with it, or with all of them.
    with contextlib.suppress(Exception):
        environment = app.jinja_env
        for name in environment.list_templates(extensions=["html", "jinja", "j2", "txt", "xml"]):
            with contextlib.suppress(Exception):
                environment.get_template(name)


def _rehearsal() -> Flask:
    """An app that does what most apps do."""
    app = Flask(__name__, static_folder=None)

    @app.get("/<name>")
    def greet(name: str) -> str:
        return render_template_string("<p>{% for letter in name %}{{ letter }}{% endfor %}</p>", name=name)

    return app


def _run_requests(app: WsgiApp) -> None:
    headers = [(b"host", b"localhost"), (b"accept", b"text/html"), (b"cookie", b"a=b")]
    nobody = ("127.0.0.1", 0)
    request = Request("", "GET", b"/melee", b"a=b", "1.1", "http", nobody, nobody, headers, 0, b"")
    for _run in range(_RUNS):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(request_message(request))
            serve_requests(app, theirs, requests_per_child=1)
