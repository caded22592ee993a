"""A coverage plugin that sees which lines of a compiled Jinja template ran.

Jinja compiles a template to Python functions whose code carries the template's path. Coverage records the lines of that
Python; this plugin writes down, beside them, which template line each one renders. Working on the compiled lines keeps
the arms of an `{% if %}` apart even where they hold only text, which line numbers of the template alone cannot.

Coverage loads it in every measured process, so it imports nothing but coverage.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from dis import get_instructions
from pathlib import Path
from types import CodeType, FrameType

from coverage import CoveragePlugin, FileReporter, FileTracer
from coverage.plugin_support import Plugins
from coverage.types import TConfigSectionOut

SUFFIXES = {".html", ".jinja", ".j2", ".txt", ".xml"}
# By these names and words Jinja's compiled code reports a missing filter, argument or import, or a wrong assignment.
RAISED = {"KeyError", "TemplateRuntimeError"}
REPORTS = ("was not provided", "does not export the requested name")


class TemplatePlugin(CoveragePlugin):
    """Claims the files that are compiled from templates; `folder` is where their maps are written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file_tracer(self, filename: str) -> FileTracer | None:
        return TemplateTracer(filename, self.folder) if Path(filename).suffix in SUFFIXES else None

    def file_reporter(self, filename: str) -> FileReporter:
        return FileReporter(filename)


class TemplateTracer(FileTracer):
    def __init__(self, filename: str, folder: Path) -> None:
        self.filename = filename
        self.folder = folder
        self.seen: set[CodeType] = set()

    def source_filename(self) -> str:
        return self.filename

    def line_number_range(self, frame: FrameType) -> tuple[int, int]:
        root = frame.f_globals.get("root")
        if frame.f_code.co_name == "<module>" or root is None:
            return -1, -1
        if root.__code__ not in self.seen:
            self.seen.add(root.__code__)
            blocks = [block.__code__ for block in frame.f_globals["blocks"].values()]
            self._write_map([root.__code__, *blocks], frame.f_globals["debug_info"])
        return frame.f_lineno, frame.f_lineno

    def _write_map(self, functions: list[CodeType], debug_info: str) -> None:
        marks = [(int(code), int(line)) for line, code in (pair.split("=") for pair in debug_info.split("&") if pair)]
        lines = {compiled: line for code in functions for compiled, line in rendered_lines(code, marks)}
        content = json.dumps({"file": self.filename, "lines": lines}, sort_keys=True)
        name = hashlib.sha256(content.encode()).hexdigest()[:16]
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{name}.json").write_text(content, encoding="utf-8")


def rendered_lines(code: CodeType, marks: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Pairs of compiled line and template line, for `code` and the functions inside it.

    `marks` are Jinja's own (compiled line, template line), rising. Lines before a function's first mark set it up and
    render nothing.
    """
    lines = rendering_lines(code)
    for function in (constant for constant in code.co_consts if isinstance(constant, CodeType)):
        if function.co_varnames == ("unused",):
            # What stands in for a filter or a test that is missing, and raises.
            lines -= set(range(function.co_firstlineno, max(all_lines(function)) + 1))
        else:
            yield from rendered_lines(function, marks)
    for compiled in sorted(lines):
        before = [line for mark, line in marks if code.co_firstlineno <= mark <= compiled]
        if before:
            yield compiled, before[-1]


def all_lines(code: CodeType) -> set[int]:
    return {line for _, _, line in code.co_lines() if line}


def rendering_lines(code: CodeType) -> set[int]:
    """The compiled lines of `code` that render something or decide what is rendered.

    Left out are the lines that only report a mistake in the template, those that render only space, and all of a block
    that renders nothing else: an empty one, made to be filled by another template.
    """
    names: dict[int, set[str]] = defaultdict(set)
    texts: dict[int, str] = defaultdict(str)
    yields: set[int] = set()
    for instruction in get_instructions(code):
        line = instruction.positions.lineno if instruction.positions else None
        if not line:
            continue
        if instruction.opname == "YIELD_VALUE":
            yields.add(line)
        if isinstance(instruction.argval, str) and instruction.opname == "LOAD_CONST":
            texts[line] += instruction.argval
        elif isinstance(instruction.argval, str):
            names[line].add(instruction.argval)
    missing = {line for line, text in texts.items() if any(report in text for report in REPORTS)}
    reporting = {line for line in names if names[line] & RAISED or (line in missing and "undefined" in names[line])}
    space = {line for line in yields if texts[line].isspace() and not names[line]}
    if code.co_name.startswith("block_") and not yields - space:
        return set()
    return all_lines(code) - {code.co_firstlineno} - reporting - space


def coverage_init(registry: Plugins, options: TConfigSectionOut) -> None:
    registry.add_file_tracer(TemplatePlugin(Path(str(options["folder"]))))
