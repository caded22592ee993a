"""`melee dev`: the app in this folder, its objects in the same process, again after every edit."""

import io
import os
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click
from werkzeug.debug import DebuggedApplication
from werkzeug.serving import make_server
from werkzeug.wsgi import ClosingIterator

from melee import log
from melee.builder.build import build
from melee.cli.alone import alone_on
from melee.cli.dev_jobs import working
from melee.cli.listening import listen, url_of
from melee.cli.reloading import Sources, Stop, begin_anew, inherited_descriptors
from melee.clock import SystemClock
from melee.console.console import Console
from melee.errors import BadInput
from melee.objects.host import Host
from melee.objects.hosting import hosted
from melee.project import Project
from melee.store.lock import FolderLock
from melee.words import visible

LOOK_SECONDS = 1
# Between two groups of overdue timers, so that callers have their turn.
_BREATH_SECONDS = 0.01
_RETRY_SECONDS = 5
_GRACE_SECONDS = 3
_POLL_SECONDS = 0.05

_WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@click.command()
@click.argument("app", default=".", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=5000, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option("--no-reload", is_flag=True, help="Do not start again when a file of the app changes.")
def dev(app: Path, host: str, port: int, no_reload: bool) -> None:
    """Serve the app in folder APP (default: this one) for development.

    Errors open Flask's debugger in the browser. Durable objects live in this process; their timers are looked at
    about once a second. Durable jobs run in it, too, one at a time, so that a debugger works in them; nothing ends
    one that takes longer than its TIMEOUT. What `melee build` finds is printed, and does not keep the app from
    running. An edit of the code, db/, templates/ or melee.toml starts it again. Ctrl-C stops it.

    \b
    Examples:
      melee dev
      melee dev board --port 8000
    """
    environment = dict(os.environ)
    log.to_lines()
    # Before the first word: whoever reads it may press Ctrl-C at once.
    stop = Stop()
    with _begun(app, host, port) as (lock, listener):
        if no_reload:
            _serve(Project.at(app), host, listener, stop)
        else:
            _serve_until_changed(app.resolve(), host, listener, stop)
            begin_anew([lock.fileno(), listener.fileno()], environment, stop)
    click.echo("stopped", err=True)


@contextmanager
def _begun(app: Path, host: str, port: int) -> Iterator[tuple[FolderLock, socket.socket]]:
    """The lock and the socket of the process that was here before. The first one takes them, and says what is served
    where."""
    if inherited := inherited_descriptors():
        # The app may be broken by now; its data are where they were.
        with alone_on(app.resolve() / "data", inherited[0]) as lock, socket.socket(fileno=inherited[1]) as listener:
            yield lock, listener
        return
    project = Project.at(app)
    with alone_on(project.data) as lock, listen(host, port) as listener:
        click.echo(f"{visible(project.folder.name)} on {url_of(host, listener)} (Ctrl-C stops it)")
        click.echo(f"data in {visible(str(project.data))}")
        yield lock, listener


def _serve(project: Project, host: str, listener: socket.socket, stop: Stop) -> None:
    app = _load(project)
    with _hosting(project), working(project, app), _answering(app, host, listener, stop):
        stop.wait()


def _serve_until_changed(folder: Path, host: str, listener: socket.socket, stop: Stop) -> None:
    """Serves until a source changes or it is time to stop; an app that does not load is answered for by its error."""
    sources = Sources(folder, stop)
    objects: AbstractContextManager[None]
    jobs: AbstractContextManager[None]
    try:
        project = Project.at(folder)
        app, objects = _load(project), _hosting(project)
        jobs = working(project, app)
    except BadInput as error:
        click.echo(f"melee: {visible(str(error))}; waiting for the next edit", err=True)
        app, objects, jobs = _failing_with(error), nullcontext(), nullcontext()
    with objects, jobs, _answering(app, host, listener, stop):
        changed = sources.wait_for_change()
        if changed:
            click.echo(f"{visible(changed)} changed; starting again")


def _load(project: Project) -> _WsgiApp:
    # Flask reads this when the app is made: errors reach the debugger, templates are read anew.
    os.environ.setdefault("FLASK_DEBUG", "1")
    # Python takes a compiled file for current when second and size of its source are the same: an edit that is quick
    # and keeps the length would be started anew and yet not run.
    sys.dont_write_bytecode = True
    app: _WsgiApp = project.load().app
    _ = project.config
    for finding in build(project):
        click.echo(f"melee build: {visible(str(finding))}", err=True)
    return app


def _failing_with(error: BadInput) -> _WsgiApp:
    def fail(environ: dict[str, Any], _start_response: Callable[..., Any]) -> Iterable[bytes]:
        # The terminal has its line already; the traceback is for the browser.
        environ["wsgi.errors"] = io.StringIO()
        raise error.with_traceback(None)

    return fail


class _UnderWay:
    """An app around another one, that knows whether a response of it is on its way."""

    def __init__(self, app: _WsgiApp) -> None:
        self._app = app
        self._requests: set[object] = set()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        request = object()
        self._requests.add(request)
        return ClosingIterator(self._app(environ, start_response), lambda: self._requests.discard(request))

    def wait_for_end(self, stop: Stop) -> None:
        """Returns when there is none, when it is time to stop, or after a while: a response may have no end."""
        clock = SystemClock()
        ends_at = clock.elapsed() + _GRACE_SECONDS
        while self._requests and clock.elapsed() < ends_at and not stop.comes_within_a_look():
            pass


@contextmanager
def _answering(app: _WsgiApp, host: str, listener: socket.socket, stop: Stop) -> Iterator[None]:
    """Inside, requests are answered: each in a thread, errors by the debugger. A response that is on its way at the end
    is sent, unless it is time to stop."""
    debugged = DebuggedApplication(app, evalex=True)
    debugged.trusted_hosts.append(host)
    under_way = _UnderWay(Console(debugged, app, host))
    server = make_server(host, listener.getsockname()[1], under_way, threaded=True, fd=listener.fileno())
    threading.Thread(target=server.serve_forever, args=(_POLL_SECONDS,), daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        under_way.wait_for_end(stop)


@contextmanager
def _hosting(project: Project) -> Iterator[None]:
    """Inside, this process hosts the objects of a loaded app and looks for due timers.

    Its end waits for a call that is running, but not for ever: what was confirmed is on disk already.
    """
    stopping = threading.Event()
    with ExitStack() as entered:
        host = entered.enter_context(hosted(project, SystemClock()))
        hosting = entered.pop_all()
    thread = threading.Thread(target=_look_for_due_timers, args=(host, hosting, stopping), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(_GRACE_SECONDS)
        if thread.is_alive():
            click.echo("a call of an object is still running; it is cut off, and what it wrote is undone", err=True)


def _look_for_due_timers(host: Host, hosting: ExitStack, stopping: threading.Event) -> None:
    wait_seconds: float = LOOK_SECONDS
    with hosting:
        while not stopping.wait(wait_seconds):
            try:
                wait_seconds = _BREATH_SECONDS if host.fire_due() else LOOK_SECONDS
                host.unload_idle()
            except Exception:  # noqa: BLE001 - a full disk, say: shown, and tried again
                wait_seconds = _RETRY_SECONDS
                click.echo(f"melee: looking for due timers failed\n{traceback.format_exc()}", err=True)
