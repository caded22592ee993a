"""Records which shown lines each test runs: `pytest -p melee_docs.pytest_plugin --proof=.proof`.

Written to the folder: `coverage` (the lines, each with the tests that ran it), `templates/` (maps of compiled
templates) and `tests.json` (each test's outcome and place, and a digest of each file as it was when the run started).
Only files in `melee_examples/` and `snippets/` are measured, where they stand: a test that copies an app to another
folder proves nothing about the original. Run the original with another data folder instead.

The context of a line is the test's name, fixtures included; while a test module is imported, the module's name.
Processes a test starts are measured too, forked or spawned, if they end by themselves or by SIGTERM. One that is
started by a fixture shared between tests could serve any of them, so what runs there counts for none.
"""

import json
import os
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from coverage import Coverage, CoverageData
from coverage.exceptions import CoverageException

from melee_docs.coverage import MADE_AT_RUN_TIME, digest

SOURCES = ("melee_examples", "snippets")
# Warnings of coverage would go to the standard error of the programs under test.
SILENCED = ["no-data-collected", "module-not-measured", "module-not-imported", "already-imported", "trace-changed"]
CHILD_CONFIG = "COVERAGE_PROCESS_CONFIG"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("melee_docs").addoption(
        "--proof", metavar="FOLDER", help="record which shown lines each test runs, e.g. --proof=.proof"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Starts before any conftest is imported, so that what a conftest imports is measured."""
    folder = early_config.known_args_namespace.proof
    if folder is None:
        return
    recorder = Recorder(early_config.rootpath, early_config.rootpath / folder)
    recorder.start()
    early_config.pluginmanager.register(recorder, "melee-proof-recorder")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("proof") and config.getoption("numprocesses", None):
        raise pytest.UsageError("--proof records one process at a time; leave out -n")


class Recorder:
    """One recorded run: owns the coverage, the outcomes and the files of the proof folder."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        self.parts = folder / "parts"
        self.outcomes: dict[str, str] = {}
        self.places: dict[str, tuple[str, int]] = {}
        self.sources = [root / name for name in SOURCES if (root / name).is_dir()]
        if not self.sources:
            raise pytest.UsageError(
                f"--proof: {root} has neither of the folders {', '.join(SOURCES)}; nothing to measure"
            )
        self.digests = {path.relative_to(root).as_posix(): digest(path) for path in source_files(self.sources)}

    def start(self) -> None:
        for made in (self.parts, self.folder / "templates"):
            shutil.rmtree(made, ignore_errors=True)
        for made in (self.folder / "coverage", self.folder / "tests.json"):
            made.unlink(missing_ok=True)
        self.parts.mkdir(parents=True)
        self.coverage = self._configured()
        self.coverage.start()
        self._switch("")

    def _configured(self) -> Coverage:
        coverage = Coverage(
            data_file=self.parts / "part",
            data_suffix=True,
            branch=False,
            config_file=False,
            source_dirs=[str(source) for source in self.sources],
        )
        tracer = "melee_docs.template_tracer"
        coverage.set_option("run:core", "ctrace")
        coverage.set_option("run:sigterm", True)
        coverage.set_option("run:patch", ["_exit", "fork"])
        coverage.set_option("run:disable_warnings", SILENCED)
        coverage.set_option("run:plugins", [tracer])
        coverage.set_option(f"{tracer}:folder", str(self.folder / "templates"))
        return coverage

    def _switch(self, context: str) -> None:
        self.running = context
        self.coverage.switch_context(context)
        self._switch_children(context)

    def _switch_children(self, context: str) -> None:
        """A forked child starts from this configuration, a spawned one from the environment."""
        self.coverage.set_option("run:context", context or None)
        os.environ[CHILD_CONFIG] = self.coverage.config.serialize()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, object, object]:
        self._switch(collector.nodeid if isinstance(collector, pytest.Module) else "")
        try:
            return (yield)
        finally:
            self._switch("")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            path, line, _ = item.location
            self.places[item.nodeid] = (path, (line or 0) + 1)
            self.digests.setdefault(path, digest(self.root / path))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._switch(item.nodeid)
        try:
            return (yield)
        finally:
            self._switch("")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        shared = fixturedef.scope != "function"
        self._switch_children("" if shared else self.running)
        try:
            return (yield)
        finally:
            self._switch_children(self.running)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        before = self.outcomes.get(report.nodeid)
        if report.failed:
            self.outcomes[report.nodeid] = "failed"
        elif report.skipped and before != "failed":
            self.outcomes[report.nodeid] = "skipped"
        elif report.when == "call" and before is None:
            self.outcomes[report.nodeid] = "passed"

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        os.environ.pop(CHILD_CONFIG, None)
        self.unreadable = merge(self.parts, self.folder / "coverage")
        tests = {
            nodeid: {"outcome": outcome, "file": self.places[nodeid][0], "line": self.places[nodeid][1]}
            for nodeid, outcome in self.outcomes.items()
        }
        record = {"tests": tests, "files": self.digests}
        (self.folder / "tests.json").write_text(json.dumps(record, indent=1, sort_keys=True), encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        passed = sum(outcome == "passed" for outcome in self.outcomes.values())
        terminalreporter.write_line(f"proof: {passed} passing tests recorded in {self.folder}")
        for part in self.unreadable:
            terminalreporter.write_line(
                f"proof: {part} is damaged; its process was killed while it wrote, its lines are lost"
            )


def source_files(sources: list[Path]) -> Iterator[Path]:
    for source in sources:
        for path in sorted(source.rglob("*")):
            if path.is_file() and not MADE_AT_RUN_TIME.intersection(path.relative_to(source).parts):
                yield path


def merge(parts: Path, target: Path) -> list[str]:
    """Merges what each process wrote into `target`; answers with the names of parts that cannot be read."""
    merged = CoverageData(basename=str(target))
    unreadable = []
    for part in sorted(parts.iterdir()):
        data = CoverageData(basename=str(part))
        try:
            data.read()
            merged.update(data)
        except CoverageException:
            unreadable.append(part.name)
        finally:
            data.close(force=True)
    merged.write()
    merged.close(force=True)
    shutil.rmtree(parts)
    return unreadable
