"""Runs one example of a page: `python -m melee_docs.proofs.example example.json`, in a process made for it.

What goes wrong is the last line on standard error, behind the line of the example: `2: NameError: …`.
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
from typing import Any

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
        except SyntaxError as error:
            sys.exit(f"{error.lineno or 1}: SyntaxError: {error.msg}")
        except Exception as error:  # noqa: BLE001 -- whatever the example raises is the finding
            lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == page]
            sys.exit(f"{lines[-1]}: {type(error).__name__}: {' '.join(str(error).split())}")
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
        sys.exit(f"{line}: {reason}")
    unrun = parser.statements - {parser.first_line(line) for line in ran}
    if unrun:
        sys.exit(f"{min(unrun)}: this line never ran; run it, or leave it out")


def run_session(source: str, page: str) -> None:
    """Runs a `>>>` session; what a statement answers is compared."""
    session = doctest.DocTestParser().get_doctest(source, {}, page, page, 0)
    try:
        doctest.DebugRunner(optionflags=doctest.ELLIPSIS).run(session)
    except doctest.DocTestFailure as failure:
        line = failure.example.lineno + 1
        sys.exit(f"{line}: the page shows `{failure.example.want.strip()}`, but got `{failure.got.strip()}`")
    except doctest.UnexpectedException as error:
        line = error.example.lineno + 1
        sys.exit(f"{line}: {error.exc_info[0].__name__}: {error.exc_info[1]}")


def main() -> None:
    facts = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    run = run_session if facts.pop("session") else run_example
    run(**facts)


if __name__ == "__main__":
    main()
