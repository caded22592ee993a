"""`melee objects`: the durable objects of an app, seen from outside, whether the app runs or not."""

import re
import signal
import sys
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.filesize import decimal
from rich.progress import track

from melee.cli.app_folder import app_option, project_of
from melee.cli.tables import print_table
from melee.clock import SystemClock
from melee.errors import BadInput
from melee.objects.files import every_file
from melee.objects.inspection import (
    Seen,
    Unreadable,
    copy_to,
    look_at,
    migrations_applied,
    opened,
    size_of,
    tables,
    values,
)
from melee.objects.record import State, read_state
from melee.objects.request import ObjectRef
from melee.project import Project
from melee.store.migrations import statements
from melee.words import distance, moment, shortened, visible


def _objects_folder(context: click.Context) -> Path:
    return project_of(context).data / "objects"


@click.group(invoke_without_command=True)
@app_option
@click.pass_context
def objects(context: click.Context) -> None:
    """List the durable objects of an app.

    Each with its next timer, its last timer error and its size, whether the app runs or not.

    \b
    Examples:
      melee objects
      melee objects --app board
      melee objects show Stats visits
    """
    if context.invoked_subcommand is None:
        _list(project_of(context))


def _list(project: Project) -> None:
    files = list(every_file(project.data / "objects"))
    progress = Console(stderr=True)
    looking = track(files, "looking at objects", console=progress, transient=True, disable=not progress.is_terminal)
    found = [look_at(file) for file in looking]
    seen = sorted((one for one in found if isinstance(one, Seen)), key=lambda one: one.state.ref)
    unreadable = [one for one in found if isinstance(one, Unreadable)]
    if seen:
        print_table(
            ("class", "id", "next timer", "last timer error", "size"),
            [(*one.state.ref, *_timer(project, one.state), decimal(one.size_bytes)) for one in seen],
        )
    elif not unreadable:
        click.echo(f"{visible(project.folder.name)} has no durable objects yet; the first call of one makes it.")
    for one in unreadable:
        click.echo(f"melee: {visible(f'{one.file} cannot be read: {one.problem}')}", err=True)
    if unreadable:
        raise click.exceptions.Exit(1)


def _timer(project: Project, state: State) -> tuple[str, str]:
    """The next timer and the last timer error, in words; `-` for none."""
    now, zone = SystemClock().now(), project.config.zone
    due = "-" if state.due_at is None else f"{moment(state.due_at, zone)} ({distance(state.due_at - now)})"
    failed_at = f" ({moment(state.timer_error_at, zone)})" if state.timer_error_at else ""
    return due, f"{shortened(state.timer_error)}{failed_at}" if state.timer_error else "-"


@objects.command()
@click.argument("class_name", metavar="CLASS")
@click.argument("id")
@app_option
@click.pass_context
def show(context: click.Context, class_name: str, id: str) -> None:
    """Show one object: file, timer, tables, keys.

    \b
    Example:
      melee objects show Stats visits
    """
    project = project_of(context)
    with opened(_objects_folder(context), ObjectRef(class_name, id)) as connection:
        state = read_state(connection)
        assert state
        due, error = _timer(project, state)
        facts = {
            "object": str(state.ref),
            "file": str(connection.path),
            "size": decimal(size_of(connection.path)),
            "next timer": due,
            "last timer error": error,
            "migrations": ", ".join(migrations_applied(connection)) or "-",
        }
        for name, fact in facts.items():
            click.echo(f"{name + ':':18}{visible(fact)}")
        _print_section("table", "rows", {table: f"{count:,}" for table, count in tables(connection).items()})
        _print_section("key", "value", {key: shortened(value) for key, value in values(connection).items()})


def _print_section(left: str, right: str, rows: dict[str, str]) -> None:
    if rows:
        click.echo()
        print_table((left, right), list(rows.items()))


@objects.command()
@click.argument("class_name", metavar="CLASS")
@click.argument("id")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@app_option
@click.pass_context
def export(context: click.Context, class_name: str, id: str, file: Path | None) -> None:
    """Copy one object's database to FILE.

    The copy is complete and checked, whether the app runs or not. FILE defaults to CLASS-ID.sqlite3 in the folder you
    stand in. A file that exists is not overwritten.

    \b
    Example:
      melee objects export Stats visits visits.sqlite3
    """
    ref = ObjectRef(class_name, id)
    target = file or Path(_file_name(ref))
    with opened(_objects_folder(context), ref) as connection:
        try:
            copy_to(connection, target)
        except FileExistsError:
            raise BadInput(f"{target} exists and is not overwritten; name another file") from None
    click.echo(visible(f"{ref} is in {target} ({decimal(target.stat().st_size)})"))


def _file_name(ref: ObjectRef) -> str:
    """An id is no path: what a file name should not have becomes `_`."""
    readable = re.sub(r"[^\w.-]", "_", f"{ref.class_name}-{ref.id}", flags=re.ASCII)
    return f"{readable[:100]}.sqlite3"


@objects.command()
@click.argument("class_name", metavar="CLASS")
@click.argument("id")
@click.argument("sql", metavar="[SQL]", default="-")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a row; a blob is base64.")
@app_option
@click.pass_context
def sql(context: click.Context, class_name: str, id: str, sql: str, as_json: bool) -> None:
    """Ask one object's database with SQL that reads.

    One statement; without SQL, or with -, it comes from standard input.

    \b
    Examples:
      melee objects sql Stats visits "SELECT * FROM days"
      melee objects sql Stats visits --json < report.sql
    """
    # SQLite does not come back to Python while it works; so Ctrl-C ends the process, which only reads.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with opened(_objects_folder(context), ObjectRef(class_name, id)) as connection:
        rows = connection.execute(_one_statement(sys.stdin.read() if sql == "-" else sql), ())
    if as_json:
        for row in rows:
            click.echo(msgspec.json.encode(row).decode())
    elif rows:
        print_table(list(rows[0]), [[_cell(value) for value in row.values()] for row in rows])
    else:
        click.echo("no rows", err=True)


def _one_statement(sql: str) -> str:
    found = [statement for _index, statement in statements(sql)]
    if len(found) != 1:
        raise BadInput(f"{len(found)} statements were given; give one, such as SELECT * FROM days")
    return found[0]


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"x'{value.hex()}'" if isinstance(value, bytes) else str(value)
