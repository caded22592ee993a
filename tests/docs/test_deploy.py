"""What the files of `snippets/deploy/` say of melee, of the board and of each other; that their programs can read them
is proven with the pages."""

import json
import re
import shlex
from configparser import ConfigParser
from pathlib import Path

import pytest

from melee.cli.serve import serve
from melee.project import ServerConfig
from melee.web.body import BODY_BYTES_AT_MOST

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "snippets" / "deploy"
BOARD = ROOT / "melee_examples" / "board"
NOT_SERVED = {"README.md", "tests", "__pycache__", "data", ".melee", ".pytest_cache"}
CONTAINERFILE = (DEPLOY / "Containerfile").read_text(encoding="utf-8")


@pytest.fixture
def service() -> dict[str, str]:
    """The section `[Service]` of the unit; keys are in lower case."""
    unit = ConfigParser(interpolation=None)
    unit.read(DEPLOY / "board.service", encoding="utf-8")
    return dict(unit["Service"])


def command_of_the_image() -> list[str]:
    listed = re.search(r"^CMD (.+)$", CONTAINERFILE, re.MULTILINE)
    assert listed is not None
    return [str(word) for word in json.loads(listed[1])]


def copied_into_the_image() -> set[str]:
    copies = re.findall(r"^COPY (.+) \S+$", CONTAINERFILE, re.MULTILINE)
    return {name for names in copies for name in names.split()}


def test_systemd_waits_longer_for_the_end_than_melee_takes(service: dict[str, str]) -> None:
    assert float(service["timeoutstopsec"]) > ServerConfig().grace_seconds


def test_the_unit_makes_the_folders_that_it_lets_the_app_write_in(service: dict[str, str]) -> None:
    app = shlex.split(service["execstart"])[2]
    assert service["readwritepaths"] == f"{app}/data {app}/.melee"
    assert service["execstartpre"].endswith(f" {service['readwritepaths']}")
    assert f" --owner={service['user']} " in service["execstartpre"]


def test_unit_image_and_proxy_serve_at_the_same_port(service: dict[str, str]) -> None:
    assert shlex.split(service["execstart"])[-4:] == ["--host", "127.0.0.1", "--port", "8000"]
    assert command_of_the_image()[-4:] == ["--host", "0.0.0.0", "--port", "8000"]
    assert "\nEXPOSE 8000\n" in CONTAINERFILE
    assert "reverse_proxy 127.0.0.1:8000\n" in (DEPLOY / "Caddyfile").read_text(encoding="utf-8")


def test_melee_serve_understands_what_unit_and_image_say_to_it(service: dict[str, str]) -> None:
    for command, host in ((shlex.split(service["execstart"]), "127.0.0.1"), (command_of_the_image(), "0.0.0.0")):
        words = command[command.index("serve") + 1 :]
        with serve.make_context("serve", words) as context:
            assert (context.params["host"], context.params["port"]) == (host, 8000)


def test_the_proxy_takes_as_large_a_body_as_melee() -> None:
    listed = re.search(r"^ *max_size (\d+)MiB$", (DEPLOY / "Caddyfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert listed is not None
    assert int(listed[1]) * 2**20 == BODY_BYTES_AT_MOST


def test_the_image_has_all_that_the_board_is_made_of_and_nothing_more() -> None:
    board = {path.name for path in BOARD.iterdir()} - NOT_SERVED
    assert copied_into_the_image() == board | {"requirements.txt", "melee.toml*"}
