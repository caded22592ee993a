"""A Jinja template: a passing test rendered every shown line that does something, and every shown arm of an `{% if %}`.

Text is proven with the tag before it. A template without any tag is proven when it was rendered at all.
"""

from melee_docs.blocks import Block
from melee_docs.coverage import RecordedRun, only
from melee_docs.proofs.python import shown_lines
from melee_docs.proofs.verdict import NotProvenError, line_ranges


def prove(block: Block, run: RecordedRun) -> tuple[str, ...]:
    """The names of a few passing tests that rendered what is shown. Raises `NotProvenError`."""
    shown = shown_lines(block)
    if block.page.as_posix() in shown:
        raise NotProvenError(
            "a template written in the page is rendered by no test; show it from an app's templates folder"
        )
    tests = [test for file, lines in shown.items() for test in prove_file(file, lines, run)]
    run.require_current(*(run.tests[test].file for test in tests))
    return tuple(dict.fromkeys(tests))


def prove_file(file: str, shown: set[int], run: RecordedRun) -> tuple[str, ...]:
    run.require_current(file)
    compiled = run.template_lines(file)
    ran = run.contexts(file)
    if compiled is None or not run.fewest_tests(ran, file):
        raise NotProvenError(f"{file} was rendered by no passing test; write a test that renders it")
    wanted = only(ran, [line for line, template_line in compiled.items() if template_line in shown])
    unproven = {compiled[line] for line, names in wanted.items() if not any(run.passed(name) for name in names)}
    if unproven:
        raise NotProvenError(
            f"{file} {line_ranges(unproven)}: what this tag decides was not all rendered by a passing test; "
            "render each arm in a test"
        )
    return run.fewest_tests(wanted, file) or run.fewest_tests(ran, file)[:1]
