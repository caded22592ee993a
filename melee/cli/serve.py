"""`melee serve` and `melee reload`: an app for its visitors, and a new version of it."""

import contextlib
import socket
from pathlib import Path

import click
import uvloop

from melee import log
from melee.cli.alone import alone_on
from melee.cli.build import refuse_mistakes
from melee.cli.listening import listen, url_of
from melee.clock import SystemClock
from melee.errors import BadInput
from melee.objects.listener import allow_many_descriptors
from melee.project import Project
from melee.server.call_sockets import call_sockets
from melee.server.orders import order_reload, taking_orders
from melee.server.server import Server
from melee.server.signals import heeding_signals
from melee.server.worker import WorkerLost
from melee.web.children import ParentLost
from melee.web.target import AppFolder, Target, target_named
from melee.words import visible


@click.command()
@click.argument("app", default=".")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
def serve(app: str, host: str, port: int) -> None:
    """Serve APP for its visitors: each request in a process of its own.

    APP is an app's folder (default: this one), or any WSGI app as MODULE:CALLABLE. A folder is checked first, as
    `melee build` does; with a mistake in it nothing is served. An app that nobody visits goes to sleep; a request or
    a timer of its objects wakes it. Ctrl-C or SIGTERM stops it, after the requests that are being served. SIGHUP, or
    `melee reload`, serves a new version.

    \b
    Examples:
      melee serve
      melee serve board --host 0.0.0.0 --port 80
      melee serve mysite.wsgi:application
    """
    target = target_named(app, Path())
    _ = target.config
    if isinstance(target, AppFolder):
        refuse_mistakes(target.project)
    log.to_standard_output()
    allow_many_descriptors()
    alone = alone_on(target.project.data) if isinstance(target, AppFolder) else contextlib.nullcontext()
    with alone, listen(host, port) as listener:
        try:
            uvloop.run(_serve(target, host, listener))
        except (ParentLost, WorkerLost) as error:
            raise BadInput(str(error)) from error
    # In order, even if nobody hears it.
    with contextlib.suppress(BrokenPipeError):
        click.echo("stopped", err=True)


async def _serve(target: Target, host: str, listener: socket.socket) -> None:
    async with contextlib.AsyncExitStack() as entered:
        sockets = entered.enter_context(call_sockets(target.project)) if isinstance(target, AppFolder) else []
        server = Server(target, listener, sockets, SystemClock())
        # Before the first word: whoever reads it may press Ctrl-C or reload at once.
        entered.enter_context(heeding_signals(server.stop, server.begin_reload))
        if isinstance(target, AppFolder):
            await entered.enter_async_context(taking_orders(target.project.orders, server.reload, server.wake))
        _say_what_is_served(target, url_of(host, listener))
        await server.run()


def _say_what_is_served(target: Target, url: str) -> None:
    click.echo(f"{visible(target.name)} on {url} (Ctrl-C stops it)")
    if isinstance(target, AppFolder):
        click.echo(f"data in {visible(str(target.project.data))}")


@click.command()
@click.argument("app", default=".", type=click.Path(path_type=Path))
def reload(app: Path) -> None:
    """Have the server of the app in folder APP (default: this one) serve what is on disk now.

    No request fails: those that are being served end with the old version. If the new version has mistakes, as `melee
    build` finds them, or does not load, the old one goes on, and this command says why.

    \b
    Example:
      melee reload board
    """
    project = Project.at(app)
    order_reload(project.orders)
    click.echo(f"{visible(project.folder.name)} serves what is on disk now")
