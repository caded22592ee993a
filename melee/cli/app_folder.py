"""The option `--app` of commands that have subcommands."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from melee.project import Project

_Command = TypeVar("_Command", bound=Callable[..., Any])
_APP = "melee.cli.app"


def app_option(command: _Command) -> _Command:
    """`--app`, before the name of a subcommand or after it."""

    def keep(context: click.Context, _parameter: click.Parameter, folder: Path | None) -> None:
        if folder:
            context.meta[_APP] = folder

    option = click.option(
        "--app",
        metavar="FOLDER",
        type=click.Path(path_type=Path),
        expose_value=False,
        callback=keep,
        help="The app's folder; default: the one you stand in.",
    )
    return option(command)


def project_of(context: click.Context) -> Project:
    """The app that was named, or the one in this folder; raises `NotAnApp`."""
    return Project.at(context.meta.get(_APP, Path()))
