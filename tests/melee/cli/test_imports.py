"""A command imports what it needs: most of its start is imports, and the server keeps what it imported for ever."""

import signal
import subprocess
import sys
import urllib.request
from collections.abc import Set
from pathlib import Path

import pytest

from tests.conftest import write_app
from tests.melee.cli.small_app import environment

APP = """
from melee import Durable

class Stats(Durable):
    def hit(self):
        return 1

def app(environ, start_response):
    start_response("200 OK", [("Content-Length", "2")])
    return [str(Stats.get("visits").hit()).encode() + b"\\n"]
"""

WATCHED = """
import atexit, runpy, sys

atexit.register(lambda: print(*sys.modules, file=sys.stderr))
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""

OF_VIEWS = {"flask", "werkzeug", "jinja2", "httpx", "rich"}
OF_THE_SERVER = {"starlette", "uvicorn", "uvloop"}
OF_OBJECTS = {"apsw", "asyncio", "msgspec", "structlog", "tzlocal"}


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_its_help_and_its_version_are_there_without_what_the_commands_need(argument: str) -> None:
    assert imported_by("melee", argument) & (OF_VIEWS | OF_THE_SERVER | OF_OBJECTS) == set()


def test_an_app_is_built_without_what_serves_it(tmp_path: Path) -> None:
    assert imported_by("melee", "build", write_app(tmp_path, APP)) & (OF_VIEWS | OF_THE_SERVER) == set()


def test_templates_are_compiled_without_flask(tmp_path: Path) -> None:
    folder = write_app(tmp_path, APP)
    (folder / "templates").mkdir()
    (folder / "templates" / "index.html").write_text("{{ a }}")
    assert imported_by("melee", "build", folder) & (OF_VIEWS | OF_THE_SERVER) == {"jinja2"}


@pytest.mark.slow
def test_a_server_has_nothing_of_what_its_app_is_made_with(tmp_path: Path) -> None:
    command = watched("melee", "serve", write_app(tmp_path, APP), "--port", "0")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as server:
        assert server.stdout
        url = server.stdout.readline().split()[2]
        with urllib.request.urlopen(url, timeout=60) as answer:
            assert answer.read() == b"1\n"
        server.send_signal(signal.SIGINT)
        _printed, said = server.communicate(timeout=60)
    assert server.returncode == 0
    assert named_in(said) & (OF_VIEWS | OF_THE_SERVER) == OF_THE_SERVER


@pytest.mark.slow
def test_objects_live_without_what_serves_views(tmp_path: Path) -> None:
    command = watched("melee.objects", write_app(tmp_path, APP), "--reports", "1")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as worker:
        assert worker.stdout
        while "listening" not in worker.stdout.readline():
            assert worker.poll() is None
        worker.send_signal(signal.SIGTERM)
        _printed, said = worker.communicate(timeout=60)
    assert worker.returncode == 0
    assert named_in(said) & (OF_VIEWS | OF_THE_SERVER | OF_OBJECTS) == OF_OBJECTS


def imported_by(*arguments: str | Path) -> Set[str]:
    """The packages that a command has imported at its end."""
    ended = subprocess.run(
        watched(*arguments), capture_output=True, text=True, timeout=60, check=True, env=environment()
    )
    return named_in(ended.stderr)


def watched(*arguments: str | Path) -> list[str]:
    """A module as a command that says on standard error what it has imported; the processes that it starts do not."""
    return [sys.executable, "-c", WATCHED, *map(str, arguments)]


def named_in(said: str) -> Set[str]:
    return {name.partition(".")[0] for name in said.splitlines()[-1].split()}
