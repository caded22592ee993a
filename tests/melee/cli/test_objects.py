"""`melee objects` on real files, while the app that owns them runs and when it does not."""

import json
import os
import pty
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import chdir, suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from melee.cli.main import main
from melee.objects.files import file_of
from melee.objects.request import ObjectRef
from melee.testing import AppUnderTest
from tests.melee.cli.small_app import command, environment, melee, write_app

STRANGE_IDS = ["two words", "two\nlines", "../../escape", "[red]not red[/red]", "\x1b[31mred\x1b[0m", "é", "e\u0301"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = write_app(tmp_path / "small")
    (folder / "melee.toml").write_text("[app]\ntimezone = 'Europe/Paris'\n")
    return folder


@pytest.fixture
def app(folder: Path) -> Iterator[AppUnderTest]:
    """The app, running: its host holds the data folder and has its objects open."""
    with AppUnderTest(folder, data=folder / "data") as app:
        yield app


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["objects", *map(str, arguments)], catch_exceptions=False)


def hit(app: AppUnderTest, *ids: str) -> list[int]:
    """Calls each of the objects once and returns what they answer."""
    stats: Any = app.classes["Stats"]
    return [stats.get(id).hit() for id in ids]


def wake(app: AppUnderTest, id: str, seconds: float, what: str = "well") -> None:
    stats: Any = app.classes["Stats"]
    stats.get(id).wake(seconds, what)


def test_an_app_without_objects_gets_a_friendly_line(folder: Path) -> None:
    shown = run("--app", folder)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout == "small has no durable objects yet; the first call of one makes it.\n"


def test_objects_are_listed_in_order_while_the_app_runs(app: AppUnderTest, folder: Path) -> None:
    hit(app, "b", "a")
    wake(app, "c", 3_600)
    shown = run("--app", folder)
    assert shown.exit_code == 0
    head, *lines = shown.stdout.splitlines()
    assert head.split("  ")[0] == "class"
    assert [line.split()[:3] for line in lines] == [
        ["Stats", "a", "-"],
        ["Stats", "b", "-"],
        ["Stats", "c", "2030-01-01"],
    ]
    assert "2030-01-01 02:00:00 CET (in " in lines[2], "one hour after midnight UTC is two o'clock in Paris"
    assert all(line == line.rstrip() and line.endswith("B") for line in lines)


def test_the_list_is_the_same_when_the_app_has_ended_and_is_broken(folder: Path) -> None:
    with AppUnderTest(folder, data=folder / "data") as app:
        hit(app, "a", "b")
    (folder / "app.py").write_text("this is no Python")
    assert [line.split()[:2] for line in run("--app", folder).stdout.splitlines()[1:]] == [
        ["Stats", "a"],
        ["Stats", "b"],
    ]


def test_the_size_counts_what_is_still_in_the_write_ahead_log(app: AppUnderTest, folder: Path) -> None:
    hit(app, "a")
    file = file_of(folder / "data" / "objects", ObjectRef("Stats", "a"))
    log = Path(f"{file}-wal").stat().st_size
    assert log > 0
    size = file.stat().st_size + log
    assert run("--app", folder).stdout.endswith(f"{size / 1000:.1f} kB\n")


def test_a_timer_that_raised_is_listed_with_its_error_and_moment(app: AppUnderTest, folder: Path) -> None:
    wake(app, "a", 60, "raise")
    app.clock.move(60)
    assert app.fire_due() == ["Stats/a"]
    (line,) = run("--app", folder).stdout.splitlines()[1:]
    assert line.split()[2] == "-"
    assert "RuntimeError: the dog ate it (2030-01-01 01:01:00 CET)" in line


def test_an_id_is_shown_as_text_whatever_is_in_it(app: AppUnderTest, folder: Path) -> None:
    hit(app, *STRANGE_IDS)
    shown = run("--app", folder).stdout
    assert len(shown.splitlines()) == 1 + len(STRANGE_IDS)
    assert "\x1b" not in shown
    for text in [r"two\nlines", "../../escape", "[red]not red[/red]", r"\x1b[31mred\x1b[0m", "é", "e\u0301"]:
        assert f" {text}" in shown


@pytest.mark.parametrize("id", STRANGE_IDS)
def test_any_id_can_be_shown_and_exported(app: AppUnderTest, folder: Path, tmp_path: Path, id: str) -> None:
    hit(app, id)
    shown = run("show", "Stats", id, "--app", folder)
    assert shown.exit_code == 0
    assert "hits   1" in shown.stdout
    here = tmp_path / "here"
    here.mkdir()
    with chdir(here):
        exported = run("export", "Stats", id, "--app", folder)
    assert exported.exit_code == 0
    (file,) = here.iterdir()
    assert file.name.startswith("Stats-")
    assert file.name in exported.stdout


def test_a_long_id_is_not_cut_outside_a_terminal(app: AppUnderTest, folder: Path) -> None:
    hit(app, "x" * 1024)
    assert f" {'x' * 1024} " in run("--app", folder).stdout


@pytest.mark.slow
def test_a_terminal_gets_a_table_that_fits_and_text_that_is_not_acted_on(app: AppUnderTest, folder: Path) -> None:
    hit(app, "x" * 300, "[red]not red[/red]", "\x1b[31mred")
    ours, theirs = pty.openpty()
    plain = environment() | {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100"}
    process = subprocess.Popen(command("objects", "--app", folder), stdout=theirs, env=plain)
    os.close(theirs)
    printed = b""
    # The end of a terminal is an error on Linux and an empty read elsewhere.
    with suppress(OSError):
        while part := os.read(ours, 10_000):
            printed += part
    os.close(ours)
    assert process.wait(timeout=60) == 0
    lines = printed.decode().splitlines()
    assert max(map(len, lines)) <= 100
    assert any("─" in line for line in lines)
    assert "[red]not red[/red]" in printed.decode()
    assert r"\x1b[31mred" in printed.decode()
    assert printed.count(b"x") >= 300


def test_a_file_that_cannot_be_read_is_named_beside_the_others(folder: Path) -> None:
    with AppUnderTest(folder, data=folder / "data") as app:
        hit(app, "a", "b")
    broken = file_of(folder / "data" / "objects", ObjectRef("Stats", "a"))
    broken.write_bytes(b"not a database" * 1000)
    shown = run("--app", folder)
    assert shown.exit_code == 1
    assert [line.split()[:2] for line in shown.stdout.splitlines()[1:]] == [["Stats", "b"]]
    assert shown.stderr.startswith(f"melee: {broken} cannot be read: ")
    assert "file is not a database" in shown.stderr


def test_show_tells_all_about_one_object(app: AppUnderTest, folder: Path) -> None:
    hit(app, "a")
    wake(app, "a", 90, "x" * 1000)
    shown = run("--app", folder, "show", "Stats", "a")
    assert shown.exit_code == 0
    file = file_of(folder / "data" / "objects", ObjectRef("Stats", "a"))
    lines = shown.stdout.splitlines()
    assert lines[:2] == ["object:           Stats/a", f"file:             {file}"]
    assert lines[3].startswith("next timer:       2030-01-01 01:01:30 CET (in ")
    assert lines[4:6] == ["last timer error: -", "migrations:       001_hits.sql"]
    assert lines[6:9] == ["", "table  rows", "hits   1"]
    assert lines[9:11] == ["", "key   value"]
    assert lines[11] == f'what  "{"x" * 199}… (1,002 characters)'


def test_an_unknown_object_is_one_line_that_names_those_there_are(app: AppUnderTest, folder: Path) -> None:
    hit(app, "a", "b")
    for subcommand in ("show", "export"):
        shown = run("--app", folder, subcommand, "Stats", "c")
        assert (shown.exit_code, shown.stdout) == (1, "")
        assert shown.stderr == "melee: there is no object Stats/c; there is Stats/a, Stats/b\n"


def test_a_class_that_shares_the_folder_of_another_is_not_mistaken_for_it(app: AppUnderTest, folder: Path) -> None:
    hit(app, "a")
    assert "there is no object STATS/a" in run("--app", folder, "show", "STATS", "a").stderr
    assert "there is no object stats/a" in run("--app", folder, "show", "stats", "a").stderr


@pytest.mark.parametrize("id", ["", "x" * 1025])
def test_what_cannot_be_an_id_is_refused_in_one_line(folder: Path, id: str) -> None:
    shown = run("--app", folder, "show", "Stats", id)
    assert shown.exit_code == 1
    assert shown.stderr == f"melee: Stats id: {len(id):,} characters; it must have 1 to 1,024\n"


def test_a_destroyed_object_is_not_there(app: AppUnderTest, folder: Path) -> None:
    hit(app, "a", "b")
    app.classes["Stats"].destroy("a")
    assert "there is no object Stats/a; there is Stats/b" in run("--app", folder, "show", "Stats", "a").stderr
    assert len(run("--app", folder).stdout.splitlines()) == 2


def test_a_copy_has_the_last_writes_of_a_running_app(app: AppUnderTest, folder: Path, tmp_path: Path) -> None:
    hit(app, *["a"] * 5)
    target = tmp_path / "copy.sqlite3"
    shown = run("--app", folder, "export", "Stats", "a", target)
    assert (shown.exit_code, shown.stdout) == (0, f"Stats/a is in {target} ({target.stat().st_size / 1000:.1f} kB)\n")
    with sqlite3.connect(target) as copy:
        assert copy.execute("SELECT n FROM hits").fetchall() == [(5,)]
    copy.close()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("copy")] == ["copy.sqlite3"]
    source = file_of(folder / "data" / "objects", ObjectRef("Stats", "a"))
    assert b"hits" not in source.read_bytes(), "the writes were in the log alone, which a plain copy misses"


def test_a_file_that_exists_is_not_overwritten(app: AppUnderTest, folder: Path, tmp_path: Path) -> None:
    hit(app, "a")
    target = tmp_path / "mine.txt"
    target.write_text("mine")
    shown = run("--app", folder, "export", "Stats", "a", target)
    assert (shown.exit_code, shown.stderr) == (1, f"melee: {target} exists and is not overwritten; name another file\n")
    assert target.read_text() == "mine"


def test_an_export_of_a_damaged_object_fails_and_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    with AppUnderTest(folder, data=folder / "data") as app:
        hit(app, "a")
    file = file_of(folder / "data" / "objects", ObjectRef("Stats", "a"))
    with sqlite3.connect(file) as damaged:
        # The schema now says that a value is never NULL where one is: a fault that only a check of the copy finds.
        damaged.execute("CREATE TABLE t (v)")
        damaged.execute("INSERT INTO t VALUES (NULL)")
        damaged.execute("PRAGMA writable_schema = ON")
        damaged.execute("UPDATE sqlite_master SET sql = 'CREATE TABLE t (v NOT NULL)' WHERE name = 't'")
    damaged.close()
    target = tmp_path / "copy.sqlite3"
    shown = run("--app", folder, "export", "Stats", "a", target)
    assert shown.exit_code == 1
    assert shown.stderr == f"melee: {file} has faults, its copy was deleted: NULL value in t.v\n"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("copy")]


def test_an_export_into_a_missing_folder_is_one_line(app: AppUnderTest, folder: Path, tmp_path: Path) -> None:
    hit(app, "a")
    target = tmp_path / "missing" / "copy.sqlite3"
    shown = run("--app", folder, "export", "Stats", "a", target)
    assert (shown.exit_code, shown.stderr) == (1, f"melee: {target}: No such file or directory\n")


# What follows runs in processes of its own: `sql` gives Ctrl-C back to the system.


@pytest.mark.slow
def test_sql_prints_rows_as_a_table_or_as_json(app: AppUnderTest, folder: Path) -> None:
    hit(app, "a")
    statement = "SELECT n, NULL AS empty, 'two\nlines' AS text, x'00ff' AS blob FROM hits"
    shown = melee("objects", "sql", "Stats", "a", statement, "--app", folder)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert [line.split() for line in shown.stdout.splitlines()] == [
        ["n", "empty", "text", "blob"],
        ["1", "NULL", r"two\nlines", "x'00ff'"],
    ]
    shown = melee("objects", "sql", "Stats", "a", statement, "--app", folder, "--json")
    assert json.loads(shown.stdout) == {"n": 1, "empty": None, "text": "two\nlines", "blob": "AP8="}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE hits SET n = 100", "attempt to write a readonly database"),
        ("DELETE FROM hits", "attempt to write a readonly database"),
        ("SELECT m FROM hits", "no such column: m"),
        ("SELECT * FROM _melee_object", "tables that begin with _melee_ are melee's own"),
        ("ATTACH 'other.sqlite3' AS other", "ATTACH, DETACH and VACUUM reach past the one database"),
        ("SELECT 1; SELECT 2", "2 statements were given; give one"),
        ("", "0 statements were given; give one"),
    ],
)
def test_sql_only_reads_and_an_error_is_one_line(app: AppUnderTest, folder: Path, statement: str, problem: str) -> None:
    hit(app, "a")
    shown = melee("objects", "--app", folder, "sql", "Stats", "a", statement)
    assert (shown.returncode, shown.stdout) == (1, "")
    assert shown.stderr.startswith(f"melee: {problem}")
    assert shown.stderr.count("\n") == 1
    assert hit(app, "a") == [2]


@pytest.mark.slow
def test_sql_comes_from_standard_input_and_no_rows_are_said(app: AppUnderTest, folder: Path) -> None:
    hit(app, "a")
    shown = subprocess.run(
        command("objects", "--app", folder, "sql", "Stats", "a"),
        input="SELECT n -- the number\nFROM hits WHERE n > 100;\n",
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(),
    )
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "", "no rows\n")


@pytest.mark.slow
def test_ctrl_c_ends_a_statement_that_would_never_end(app: AppUnderTest, folder: Path) -> None:
    hit(app, "a")
    endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    process = subprocess.Popen(
        command("objects", "--app", folder, "sql", "Stats", "a"),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdin
    # The pipe is full until the command reads it, which it does right before it runs the statement.
    process.stdin.write(f"{endless} -- {'x' * 1_000_000}")
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _nothing, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (-signal.SIGINT, "")
