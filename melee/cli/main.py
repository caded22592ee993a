"""The command `melee`: its subcommands, and how their errors look."""

import click

from melee.cli.build import build
from melee.cli.dev import dev
from melee.cli.objects import objects
from melee.cli.serve import reload, serve
from melee.cli.words import visible
from melee.errors import MeleeError


class OneLineErrors(click.Group):
    """A group in which what the user can put right is one line on standard error and exit code 1."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader of a pipe has seen enough; click ends quietly.
            raise
        except KeyboardInterrupt as error:
            # As a shell has it for Ctrl-C: 1 would be a mistake.
            raise click.exceptions.Exit(130) from error
        except (MeleeError, OSError) as error:
            click.echo(f"melee: {visible(_in_words(error))}", err=True)
            raise click.exceptions.Exit(1) from error


def _in_words(error: MeleeError | OSError) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


@click.group(cls=OneLineErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="melee-runtime", prog_name="melee")
def main() -> None:
    """Small Python web apps: a request is one short process, what outlives it is a durable object.

    An app is a folder with an app.py. Commands take the folder they stand in, or the one you name.

    \b
    First steps:
      melee dev                              serve the app in this folder
      melee dev board --port 8000            serve the app in ./board on another port
      melee build board                      what is wrong with it, before it runs
      melee serve board                      serve it for visitors
      melee reload board                     serve its new version
      melee objects                          which durable objects it has
      melee objects show Stats visits        what one of them holds
      melee objects sql Stats visits "SELECT * FROM days"
      melee objects export Stats visits      a copy of its database
    """


main.add_command(build)
main.add_command(dev)
main.add_command(objects)
main.add_command(serve)
main.add_command(reload)
