"""A server that forks when it accepts: the peer in `serving.py` that has no children to spare.

`python benchmarks/fork_on_accept.py` serves `app` of the `app.py` in the folder it stands in, and says where. It
imports the app once; the child of a connection serves its one request and exits.
"""

import gc
import importlib
import os
import signal
import sys
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import click


class Server(WSGIServer):
    # As many connections may wait as in the servers beside it.
    request_queue_size = 2048


class Handler(WSGIRequestHandler):
    """Writes no access log, as gunicorn writes none."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        return


def serve(server: WSGIServer) -> None:
    while True:
        connection, address = server.socket.accept()
        if os.fork() == 0:
            code = 1
            try:
                server.socket.close()
                server.finish_request(connection, address)
                server.shutdown_request(connection)
                code = 0
            finally:
                # Not sys.exit: it would tear down what the child shares with its parent, page by page.
                os._exit(code)
        connection.close()


def main() -> None:
    sys.path.insert(0, str(Path.cwd()))
    with Server(("127.0.0.1", 0), Handler) as server:
        server.set_app(importlib.import_module("app").app)
        # The kernel takes the ended children away.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        gc.freeze()
        click.echo(f"forks on accept at http://127.0.0.1:{server.server_port}/")
        serve(server)


if __name__ == "__main__":
    main()
