"""Reads what a recorded run of the tests left in `.proof`: which test ran which line, and which tests passed."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from coverage import CoverageData
from coverage.parser import PythonParser

from melee_docs.proofs.verdict import NotProvenError

RECORD = "python -m pytest -p melee_docs.pytest_plugin --proof=.proof"

# What a running app leaves in its folder: neither shown nor copied.
MADE_AT_RUN_TIME = frozenset({"__pycache__", "data", ".melee"})

Contexts = Mapping[int, frozenset[str]]


@dataclass(frozen=True)
class RanTest:
    """A test of the recorded run; `outcome` is `passed`, `failed` or `skipped`."""

    name: str
    outcome: str
    file: str
    line: int


@dataclass
class RecordedRun:
    """The run recorded in the folder `folder` of the project at `root`.

    A context is a test's name; a test module's name while it was imported; or empty, for what was imported earlier.
    """

    root: Path
    folder: Path
    tests: dict[str, RanTest]
    digests: dict[str, str]
    lines: dict[str, Contexts] = field(repr=False)

    @classmethod
    def read(cls, root: Path, folder: Path) -> "RecordedRun":
        """Raises `NotProvenError` when no run is recorded there."""
        record = folder / "tests.json"
        if not record.is_file() or not (folder / "coverage").is_file():
            raise NotProvenError(f"no run of the tests is recorded in {folder}; run: {RECORD}")
        content = json.loads(record.read_text(encoding="utf-8"))
        tests = {
            name: RanTest(name, test["outcome"], test["file"], test["line"]) for name, test in content["tests"].items()
        }
        return cls(root.resolve(), folder, tests, content["files"], read_lines(folder / "coverage"))

    def passed(self, context: str) -> bool:
        return context in self.tests and self.tests[context].outcome == "passed"

    def imported(self, context: str) -> bool:
        """Whether the context is an import outside any test; a module's import counts when one of its tests passed."""
        return context == "" or context in self.modules_that_passed

    @cached_property
    def modules_that_passed(self) -> set[str]:
        return {test.file for test in self.tests.values() if test.outcome == "passed"}

    def require_current(self, *files: str) -> None:
        """Raises `NotProvenError` for a file that is not, byte for byte, the one the run started with."""
        for name in files:
            path = self.root / name
            if name not in self.digests:
                raise NotProvenError(f"{name} was not there, or is not measured, when the tests ran; run: {RECORD}")
            if not path.is_file() or digest(path) != self.digests[name]:
                raise NotProvenError(f"{name} has changed since the tests ran; run: {RECORD}")

    def contexts(self, file: str) -> Contexts:
        """The contexts of each line of `file` that ran, as Python counts lines."""
        return self.lines.get(str(self.root / file), {})

    def template_lines(self, file: str) -> dict[int, int] | None:
        """Compiled line to template line, or None when the template was never rendered.

        Raises `NotProvenError` when it was compiled in two ways, since their lines cannot be told apart.
        """
        path = str(self.root / file)
        maps = [lines for name, lines in self.template_maps if name == path]
        if len(maps) > 1:
            raise NotProvenError(f"{file} was rendered by two differently set up Jinja environments; use one")
        return maps[0] if maps else None

    @cached_property
    def template_maps(self) -> list[tuple[str, dict[int, int]]]:
        files = sorted((self.folder / "templates").glob("*.json"))
        maps = [json.loads(file.read_text(encoding="utf-8")) for file in files]
        return [(found["file"], {int(line): shown for line, shown in found["lines"].items()}) for found in maps]

    def fewest_tests(self, ran: Contexts, file: str) -> tuple[str, ...]:
        """A small set of passing tests that together ran every line of `ran` that any passing test ran.

        Of two tests that add as much, the one that runs less of the file is the more telling.
        """
        size = Counter(context for contexts in self.contexts(file).values() for context in contexts)
        missing = {line: {context for context in contexts if self.passed(context)} for line, contexts in ran.items()}
        missing = {line: contexts for line, contexts in missing.items() if contexts}
        chosen = []
        while missing:
            gain = Counter(context for contexts in missing.values() for context in contexts)
            best = min(gain, key=lambda context: (-gain[context], size[context], context))
            chosen.append(best)
            missing = {line: contexts for line, contexts in missing.items() if best not in contexts}
        return tuple(chosen)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_lines(file: Path) -> dict[str, Contexts]:
    """The contexts of each line that ran, by the file's absolute path."""
    data = CoverageData(basename=str(file))
    data.read()
    try:
        return {
            path: {line: frozenset(contexts) for line, contexts in data.contexts_by_lineno(path).items()}
            for path in data.measured_files()
        }
    finally:
        data.close(force=True)


def executable_lines(source: str) -> PythonParser:
    """Coverage's own reading of `source`: `.statements` and `.first_line(n)`.

    Nothing is excluded, so that a line with a `no cover` pragma must run like any other.
    """
    parser = PythonParser(text=source, exclude=None)
    parser.parse_source()
    return parser


def by_statement(contexts: Contexts, parser: PythonParser) -> Contexts:
    """The contexts of each statement, whichever of its lines they ran."""
    statements: dict[int, frozenset[str]] = {}
    for line, names in contexts.items():
        first = parser.first_line(line)
        statements[first] = statements.get(first, frozenset()) | names
    return statements


def only(contexts: Contexts, lines: Collection[int]) -> Contexts:
    return {line: contexts.get(line, frozenset()) for line in lines}
