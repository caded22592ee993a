"""Reads a console block into commands and their output, and compares output that may vary."""

import re
from dataclasses import dataclass, field

ANY_LINES = "..."


@dataclass
class Command:
    """One `$` line and what is shown of its output, before its `^C` and, as `last_words`, after it.

    `line` is its index in the block, `places` the indexes of the lines of `output` and then `last_words`.
    """

    line: int
    text: str
    background: bool = False
    interrupted: bool = False
    output: list[str] = field(default_factory=list)
    last_words: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    @property
    def keeps_running(self) -> bool:
        return self.background or self.interrupted


Step = tuple[str, Command]


def read_transcript(text: str) -> list[Step]:
    """The steps in order: ("run", command) and ("interrupt", command).

    A `^C` belongs to the latest command that keeps running; those without one are interrupted at the end.

    Raises:
        ValueError: with the index of the line, and what is wrong with it.
    """
    steps: list[Step] = []
    running: list[Command] = []
    lines = text.splitlines()
    blank: list[int] = []
    for index, line in enumerate(lines):
        if line.startswith("$ "):
            command = Command(index, line[2:].removesuffix(" &"), background=line.endswith(" &"))
            command.interrupted = not command.background and not running and next_mark(lines[index + 1 :]) == "^C"
            running += [command] if command.keeps_running else []
            steps.append(("run", command))
        elif line == "^C":
            if not running:
                raise ValueError(index, "nothing is running that ^C could end")
            command = running.pop()
            steps.append(("interrupt", command))
        elif line.startswith("> ") and steps and steps[-1][1].text.endswith("\\"):
            steps[-1][1].text += "\n" + line[2:]
        elif not steps:
            raise ValueError(index, "a transcript begins with a command; write `$ command`")
        elif line.strip():
            action, command = steps[-1]
            shown = command.output if action == "run" else command.last_words
            shown += [*[""] * len(blank), line]
            command.places += [*blank, index]
        blank = [*blank, index] if not line.strip() else []
    for _, command in steps:
        if command.keeps_running and all(line.strip() in ("", ANY_LINES) for line in command.output):
            raise ValueError(
                command.line, f"`{command.text}` shows no line by which to know that it is ready; show one"
            )
    return steps + [("interrupt", command) for command in reversed(running)]


def next_mark(lines: list[str]) -> str:
    return next((line for line in lines if line == "^C" or line.startswith("$ ")), "")


def pattern(lines: list[str]) -> str:
    """A regular expression of shown lines: `...` alone is any number of lines, inside a line anything within it."""
    parts = [r"(?:.*\n)*?" if line.strip() == ANY_LINES else line_pattern(line) + r"[ \t]*\n" for line in lines]
    return "".join(parts)


def line_pattern(line: str) -> str:
    return ".*?".join(re.escape(part) for part in line.rstrip().split(ANY_LINES))


def first_difference(shown: list[str], printed: str) -> tuple[int, str] | None:
    """None when they agree; otherwise the index of the first shown line that is missing, and what is there instead."""
    printed = printed.rstrip()
    printed += "\n" if printed else ""
    if re.fullmatch(pattern(shown), printed):
        return None
    agreed = max(count for count in range(len(shown) + 1) if re.match(pattern(shown[:count]), printed))
    matched = re.match(pattern(shown[:agreed]), printed)
    rest = printed[matched.end() if matched else 0 :].splitlines()
    return agreed, rest[0] if rest else ""
