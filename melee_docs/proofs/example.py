"""Runs one example of a page: `python -m melee_docs.proofs.example example.json`, in a process made for it.

What goes wrong is the last line on standard error, behind the line of the example: `2: NameError: …`. The JSON file is
deleted when the example came to its end: one that ends its own process leaves it there.
"""

import ast
import doctest
import json
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from pytest_examples import CodeExample
from pytest_examples.config import ExamplesConfig
from pytest_examples.run_code import run_code

from melee_docs.coverage import executable_lines
from melee_docs.proofs.python import unseen_by_coverage

TraceFunction = Callable[[FrameType, str, Any], Any]


def run_example(source: str, page: str) -> None:
    """Runs Python as a script would; a line that did not run is a finding, too."""
    ran: set[int] = set()
    with tempfile.TemporaryDirectory(prefix="melee-example-") as folder:
        python_file = Path(folder, "example.py")
        python_file.write_text(source, encoding="utf-8")
        try:
            with lines_noted(python_file, ran):
                run_code(
                    example=CodeExample.create(source, path=Path(page)),
                    python_file=python_file,
                    loader=None,
                    config=ExamplesConfig(),
                    enable_print_mock=False,
                    print_callback=None,
                    include_print=None,
                    module_globals=None,
                    call=None,
                )
        except SystemExit as ended:
            if ended.code:
                raise
        except Exception as error:  # noqa: BLE001 -- whatever the example raises is the finding
            if isinstance(error, SyntaxError) and error.filename == str(python_file):
                stop(error.lineno or 1, f"SyntaxError: {error.msg}; correct the block")
            lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == page]
            stop(lines[-1], f"{type(error).__name__}: {error}; correct the block")
    require_all_to_have_run(source, ran)


@contextmanager
def lines_noted(file: Path, ran: set[int]) -> Iterator[None]:
    """Inside, `ran` gathers the lines of the file that run."""

    def note(frame: FrameType, _event: str, _argument: object) -> TraceFunction | None:
        if frame.f_code.co_filename != str(file):
            return None
        ran.add(frame.f_lineno)
        return note

    sys.settrace(note)
    try:
        yield
    finally:
        sys.settrace(None)


def require_all_to_have_run(source: str, ran: set[int]) -> None:
    parser = executable_lines(source)
    for line, reason in unseen_by_coverage(ast.parse(source), parser):
        stop(line, reason)
    unrun = parser.statements - {parser.first_line(line) for line in ran}
    if unrun:
        stop(min(unrun), "this line never ran; run it, or leave it out")


def run_session(source: str, page: str) -> None:
    """Runs a `>>>` session; what a statement answers is compared."""
    session = doctest.DocTestParser().get_doctest(source, {}, page, page, 0)
    require_all_to_be_compared(source, session.examples)
    try:
        doctest.DebugRunner(optionflags=doctest.ELLIPSIS).run(session)
    except doctest.DocTestFailure as failure:
        shown, got = failure.example.want.strip(), failure.got.strip()
        stop(failure.example.lineno + 1, f"the page shows `{shown}`, but got `{got}`; correct the block")
    except doctest.UnexpectedException as error:
        raised = f"{error.exc_info[0].__name__}: {error.exc_info[1]}"
        stop(error.example.lineno + 1, f"{raised}; correct the block")


def require_all_to_be_compared(source: str, examples: list[doctest.Example]) -> None:
    """Doctest takes for prose what stands above the first prompt, behind a blank line, or under a comment."""
    for example in examples:
        if example.options.get(doctest.SKIP):
            stop(example.lineno + 1, '+SKIP is not run; write skip="reason" on the fence')
    compared = False
    for number, line in enumerate(source.split("\n"), start=1):
        text = line.strip()
        if text.startswith(">>>"):
            compared = not text[3:].lstrip().startswith("#")
        elif not text:
            compared = False
        elif not compared:
            stop(number, f"`{text}` is neither typed nor answered; take it out")


def stop(line: int, finding: str) -> NoReturn:
    sys.exit(f"{line}: {' '.join(finding.split())}")


def main() -> None:
    file = Path(sys.argv[1])
    facts = json.loads(file.read_text(encoding="utf-8"))
    run = run_session if facts.pop("session") else run_example
    run(**facts)
    file.unlink()


if __name__ == "__main__":
    main()
