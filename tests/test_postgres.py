"""The Postgres that tests are given: one for all processes of a run, and gone with the last, however that ends."""

import fcntl
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from tests.postgres import GIVEN

USES = """
import sys
from tests.postgres import postgres_server

with postgres_server(sys.argv[1]) as url:
    print(url, flush=True)
    sys.stdin.read()
"""

pytestmark = pytest.mark.slow


@contextmanager
def using(run: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Another process of a test run, and the URL of the server that it got."""
    given = {name: value for name, value in os.environ.items() if name != GIVEN}
    with subprocess.Popen(
        [sys.executable, "-c", USES, run],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
        env=given | environment,
    ) as process:
        try:
            assert process.stdout
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def wait_for_the_end(run: str) -> None:
    """Whoever stops the server waits for this lock, and holds it until nothing is left."""
    users = Path(tempfile.gettempdir()) / f"melee-postgres-{run}.users"
    while users.exists():
        with suppress(FileNotFoundError), users.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
    assert list(users.parent.glob(f"melee-postgres-{run}*")) == []


def test_all_processes_of_a_run_share_one_server_and_leave_none_when_they_are_killed() -> None:
    run = secrets.token_hex(8)
    with ExitStack() as entered:
        processes = [entered.enter_context(using(run)) for _ in range(3)]
        (url,) = {url for _process, url in processes}
        for process, _url in processes[:2]:
            process.kill()
            process.wait()
        with psycopg.connect(url) as connection:
            assert connection.execute("SHOW fsync").fetchone() == ("off",)
    wait_for_the_end(run)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)


def test_a_server_that_is_given_is_used_and_apps_under_test_do_not_see_it() -> None:
    run = secrets.token_hex(8)
    with using(run, DATABASE_URL="postgresql://elsewhere/test") as (_process, url):
        assert url == "postgresql://elsewhere/test"
    seen = subprocess.run(
        [sys.executable, "-c", "import os, tests.postgres; print(os.environ.get('DATABASE_URL'))"],
        env=os.environ | {"DATABASE_URL": "postgresql://elsewhere/test"},
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    assert seen.stdout.strip() == "None"
