"""A console transcript: its commands are run, and what they print is what the page shows.

A block is run by bash in a fresh copy of the app that the fence names (`app="melee_examples/board"`), or in an empty
folder. Commands share the current folder and the exported variables, as in one terminal.

- `$ command` is run to its end; a line that ends in `\\` goes on in the next one, which begins with `> `.
- The lines below are its output, both streams, blank lines at its end aside. `...` inside a line stands for anything,
  alone for any number of lines.
- A command whose next mark is `^C` keeps running, such as a server: its lines (at least one) are awaited, then it is
  interrupted and must end within 10 s. The lines after `^C` are its last words.
- `$ command &` keeps running while the commands below it run, until the next `^C`, or until the end of the block. All
  it printed is compared with its own lines and its last words together: put `...` where it logs what the others do.
- A command that fails is a failure, unless the next one looks at `$?`.
"""

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from melee_docs.blocks import Block
from melee_docs.coverage import MADE_AT_RUN_TIME
from melee_docs.proofs.running import Running, interrupts_held, unmeasured
from melee_docs.proofs.transcript import Command, Step, first_difference, pattern, read_transcript
from melee_docs.proofs.verdict import NotProvenError

COMMAND_SECONDS = 120
AWAIT_SECONDS = 20
END_SECONDS = 10
# Restores the folder, variables and exit code that the command before left behind, and leaves this one's.
# Arguments: the state to restore, where to leave the new one, the last exit code, the command.
BASH = r"""
leaves=$2
trap 'code=$?; { export -p; printf "cd %q\n" "$PWD"; } > "$leaves"; exit $code' EXIT
[ -e "$1" ] && . "$1"
(exit "$3")
eval "$4"
"""


def prove(block: Block, root: Path) -> tuple[str, ...]:
    """Runs the transcript. Raises `NotProvenError` with the line of the page."""
    try:
        steps = read_transcript(block.text)
    except ValueError as error:
        index, reason = error.args
        raise NotProvenError(reason, index) from None
    if not steps:
        raise NotProvenError("a transcript without a command; write `$ command`, or use a `text` block")
    with tempfile.TemporaryDirectory(prefix="melee-console-") as folder:
        terminal = Terminal(working_copy(block, root, Path(folder)), Path(folder, "state"), unmeasured(os.environ))
        try:
            for index, step in enumerate(steps):
                terminal.take(step, looked_at=is_looked_at(steps[index + 1 :]))
        finally:
            terminal.close()
    return (f"run in a copy of {block.app}, output equal" if block.app else "run in an empty folder, output equal",)


def working_copy(block: Block, root: Path, folder: Path) -> Path:
    app = block.app.partition(":")[0]
    if not app:
        (folder / "work").mkdir()
        return folder / "work"
    if not (root / app).is_dir():
        raise NotProvenError(f"app={block.app!r} is not a folder of the project; correct the name")
    return Path(shutil.copytree(root / app, folder / Path(app).name, ignore=shutil.ignore_patterns(*MADE_AT_RUN_TIME)))


def is_looked_at(following: list[Step]) -> bool:
    return bool(following) and following[0][0] == "run" and "$?" in following[0][1].text


class Terminal:
    """Runs the commands of one block, each in a process group of its own, and ends them all when closed."""

    def __init__(self, folder: Path, state: Path, variables: dict[str, str]) -> None:
        self.folder = folder
        self.state = state
        self.last_code = 0
        self.running: dict[int, Running] = {}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        plain = {
            "PATH": path,
            "TERM": "dumb",
            "NO_COLOR": "1",
            "COLUMNS": "120",
            "PYTHONUNBUFFERED": "1",
            "LC_ALL": "C.UTF-8",
        }
        self.variables = variables | plain

    def take(self, step: Step, looked_at: bool) -> None:
        action, command = step
        if action == "run":
            with interrupts_held():
                self.running[command.line] = self._start(command)
            if command.keeps_running:
                self._await_lines(command)
            else:
                self._finish(command, COMMAND_SECONDS, looked_at)
        else:
            self._interrupt(command)
            self._finish(command, END_SECONDS, looked_at=False)

    def close(self) -> None:
        for running in self.running.values():
            running.kill()

    def _start(self, command: Command) -> Running:
        leaves = os.devnull if command.keeps_running else str(self.state)
        arguments = [str(self.state), leaves, str(self.last_code), command.text]
        return Running.start(["bash", "-c", BASH, "bash", *arguments], self.folder, self.variables)

    def _await_lines(self, command: Command) -> None:
        running = self.running[command.line]
        if not running.await_output(pattern(command.output), AWAIT_SECONDS):
            self._compare(command, command.output, running.output)

    def _interrupt(self, command: Command) -> None:
        if not self.running[command.line].interrupt():
            raise NotProvenError(f"`{command.text}` ended by itself before ^C; leave ^C out", command.line)

    def _finish(self, command: Command, seconds: float, looked_at: bool) -> None:
        running = self.running[command.line]
        if not running.await_end(seconds):
            raise NotProvenError(
                f"`{command.text}` was still running after {seconds:g} s; end it with ^C", command.line
            )
        self.last_code = running.exit_code
        del self.running[command.line]
        self._compare(command, [*command.output, *command.last_words], running.output)
        by_interrupt = {128 + signal.SIGINT, -signal.SIGINT} if command.keeps_running else set()
        if running.exit_code not in {0, *by_interrupt} and not looked_at:
            failed = f"`{command.text}` ended with exit code {running.exit_code}"
            raise NotProvenError(f"{failed}; correct it, or show `$ echo $?` below it", command.line)

    def _compare(self, command: Command, shown: list[str], printed: str) -> None:
        difference = first_difference(shown, printed)
        if difference is None:
            return
        index, got = difference
        there = f"printed `{got}`" if got else "printed nothing more"
        shows = f"shows `{shown[index]}`" if index < len(shown) else "shows no more output"
        line = [command.line, *command.places][min(index + 1, len(command.places))]
        raise NotProvenError(f"`{command.text}` {there} where the page {shows}; correct the transcript", line)
