"""Runs one example of a page: `python -m melee_docs.proofs.example example.json`, in a process made for it.

What goes wrong is the last line on standard error, behind the line of the example: `2: NameError: …`.
"""

import doctest
import json
import sys
import tempfile
import traceback
from pathlib import Path

from pytest_examples import CodeExample
from pytest_examples.config import ExamplesConfig
from pytest_examples.run_code import run_code


def run_example(source: str, page: str) -> None:
    """Runs Python as a script would."""
    with tempfile.TemporaryDirectory(prefix="melee-example-") as folder:
        python_file = Path(folder, "example.py")
        python_file.write_text(source, encoding="utf-8")
        try:
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
