"""`melee build`: what is wrong with an app, before it runs."""

from pathlib import Path

import click

from melee.builder.build import build as build_app
from melee.project import Project
from melee.words import visible


@click.command()
@click.argument("app", default=".", type=click.Path(path_type=Path))
def build(app: Path) -> None:
    """Check the app in folder APP (default: this one) without running it.

    Each mistake is a line, FILE:LINE:COLUMN: what it is and what to do instead; then the exit code is 1. An app
    without mistakes builds in silence, and .melee/objects.py says what can be called on its objects. Not read are
    tests/, data/, node_modules, virtual environments, and what is hidden.

    \b
    Looked for are:
      threads, queues, processes, schedulers   they do not outlive a request
      methods of durable objects               that no caller could call
      SQL                                      that the migrated database refuses
      migrations and templates                 that do not run (of a database's migrations, the first)
      app.py                                   without an app

    \b
    Examples:
      melee build
      melee build board
    """
    refuse_mistakes(Project.at(app))


def refuse_mistakes(project: Project) -> None:
    """Builds an app; if it has mistakes, prints them and ends the command."""
    found = build_app(project)
    for finding in found:
        click.echo(visible(str(finding)))
    if found:
        raise click.exceptions.Exit(1)
