"""`melee` itself: its help, its version, and what an error looks like."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import CliRunner

from melee.cli.main import COMMANDS, main
from tests.melee.cli.small_app import command, environment, melee, write_app


def test_python_dash_m_says_its_version() -> None:
    said = melee("--version")
    assert (said.returncode, said.stdout, said.stderr) == (0, f"melee, version {version('melee-runtime')}\n", "")


def test_the_installed_script_is_the_same_command() -> None:
    script = Path(sys.executable).parent / "melee"
    said = subprocess.run([script, "--version"], capture_output=True, text=True, env=environment())
    assert (said.returncode, said.stdout) == (0, f"melee, version {version('melee-runtime')}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["build"],
        ["dev"],
        ["serve"],
        ["reload"],
        ["generate"],
        ["generate", "job"],
        ["jobs"],
        ["jobs", "failed"],
        ["jobs", "show"],
        ["jobs", "retry"],
        ["jobs", "discard"],
        ["objects"],
        ["objects", "show"],
        ["objects", "export"],
        ["objects", "sql"],
    ],
)
def test_the_help_of_each_command_has_an_example_of_it(arguments: list[str]) -> None:
    shown = CliRunner().invoke(main, [*arguments, "--help"])
    assert shown.exit_code == 0
    assert f"\n    melee {' '.join(arguments)}" in shown.stdout.partition("Example")[2]


def test_the_first_help_shows_first_steps() -> None:
    assert "melee dev board --port 8000" in CliRunner().invoke(main, ["--help"]).stdout


def test_the_first_help_says_what_each_command_does() -> None:
    shown = CliRunner().invoke(main, ["--help"]).stdout.partition("Commands:\n")[2]
    rows = [line.split(maxsplit=1) for line in shown.splitlines()]
    assert rows == [[name, what] for name, (_module, what) in sorted(COMMANDS.items())]


def test_a_command_may_be_called_by_its_short_name() -> None:
    shown = CliRunner().invoke(main, ["g", "job", "--help"])
    assert shown.exit_code == 0
    assert "melee g job send_welcome" in shown.stdout


@pytest.mark.parametrize("arguments", [["nothing"], ["dev", "--port", "many"], ["dev", "--port", "65536"]])
def test_a_wrong_option_is_a_usage_error_with_exit_code_2(arguments: list[str]) -> None:
    shown = CliRunner().invoke(main, arguments)
    assert shown.exit_code == 2
    assert "Usage: " in shown.stderr


def test_a_broken_melee_toml_is_one_line_that_names_file_and_key(tmp_path: Path) -> None:
    folder = write_app(tmp_path / "small")
    (folder / "melee.toml").write_text("[app]\ncolour = 1\n")
    (folder / "data" / "objects" / "stats" / "ab").mkdir(parents=True)
    said = melee("dev", folder, "--port", "0", "--no-reload")
    assert said.returncode == 1
    assert said.stderr.startswith(f"melee: {folder / 'melee.toml'}: Object contains unknown field `colour`")
    assert said.stderr.count("\n") == 1


def test_an_unknown_time_zone_is_one_line(tmp_path: Path) -> None:
    folder = write_app(tmp_path / "two\nlines")
    (folder / "melee.toml").write_text("[app]\ntimezone = 'Mars'\n")
    said = melee("dev", folder, "--port", "0", "--no-reload")
    assert said.returncode == 1
    assert said.stderr.startswith(f"melee: {tmp_path}/two\\nlines/melee.toml: [app] timezone 'Mars' is no IANA")
    assert said.stderr.count("\n") == 1


def test_a_file_that_may_not_be_written_is_one_line(tmp_path: Path) -> None:
    folder = write_app(tmp_path / "small")
    (folder / "data").write_text("a file where a folder should be")
    said = melee("dev", folder, "--port", "0", "--no-reload")
    assert (said.returncode, said.stderr) == (1, f"melee: {folder / 'data'}: File exists\n")


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    ended = subprocess.Popen(
        command("--help"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    assert ended.stdout
    ended.stdout.close()
    assert ended.stderr
    assert ended.stderr.read() == ""
    ended.wait(timeout=60)
    ended.stderr.close()
