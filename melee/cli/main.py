"""The command `melee`: its subcommands, and how their errors look."""

from importlib import import_module

import click

from melee.errors import MeleeError
from melee.words import visible

COMMANDS = {
    "build": ("melee.cli.build", "Check an app without running it."),
    "dev": ("melee.cli.dev", "Serve an app for development."),
    "generate": ("melee.cli.generate", "Write the beginning of a job."),
    "jobs": ("melee.cli.jobs", "List the durable jobs of an app."),
    "objects": ("melee.cli.objects", "List the durable objects of an app."),
    "reload": ("melee.cli.serve", "Have the server of an app serve what is on disk now."),
    "serve": ("melee.cli.serve", "Serve an app for its visitors."),
    "worker": ("melee.cli.worker", "Work on the durable jobs of an app."),
}
"""Each command, the module that has it under its name, and what it does, in a line of `melee --help`."""

SHORT = {"g": "generate"}
"""What else a command may be called."""


class Commands(click.Group):
    """The commands of melee. Only the one that runs is imported, since what the others need takes longer than most of
    them. What the user can put right is one line on standard error and exit code 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        cmd_name = SHORT.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        module, _what = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(module), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, what) for name, (_module, what) in COMMANDS.items()])

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


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
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
      melee generate job send_welcome        a durable job, and its test
      melee jobs                             how many wait, run and have failed
      melee worker board --queues search=8   work on its jobs, beside the server or elsewhere
      melee objects                          which durable objects it has
      melee objects show Stats visits        what one of them holds
      melee objects sql Stats visits "SELECT * FROM days"
      melee objects export Stats visits      a copy of its database
    """
