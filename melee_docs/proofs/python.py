"""Python shown from a file: every executable line shown ran in a passing test.

A statement inside a function must have run in a passing test. A statement of a module or a class may also have run
while the module was imported, but then some passing test must use the file. What line coverage cannot see would carry
a false proof, so it is refused in shown code: a statement on the line of another one (a one-line `def`, `if` or
`except`), the body of a `lambda`, and the two arms of `a if b else c`. The operands of `and` and `or` are not looked
at, nor what stands inside a comprehension or a generator expression: it counts as run when its statement ran.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from coverage.exceptions import NotPython
from coverage.parser import PythonParser

from melee_docs.blocks import Block
from melee_docs.coverage import Contexts, RecordedRun, by_statement, executable_lines, only
from melee_docs.proofs.verdict import NotProvenError, line_ranges

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def prove(block: Block, run: RecordedRun) -> tuple[str, ...]:
    """The names of a few passing tests that ran every line shown. Raises `NotProvenError`."""
    tests = [test for file, lines in shown_lines(block).items() for test in prove_file(file, lines, run)]
    run.require_current(*(run.tests[test].file for test in tests))
    return tuple(dict.fromkeys(tests))


def shown_lines(block: Block) -> dict[str, set[int]]:
    """The shown lines of each file the block is made of; blank lines are left out."""
    shown: dict[str, set[int]] = {}
    for text, origin in zip(block.text.removesuffix("\n").split("\n"), block.origins, strict=True):
        if text.strip():
            shown.setdefault(origin.file.as_posix(), set()).add(origin.line)
    return shown


def prove_file(file: str, shown: set[int], run: RecordedRun) -> tuple[str, ...]:
    run.require_current(file)
    source = (run.root / file).read_text(encoding="utf-8")
    try:
        parser = executable_lines(source)
    except NotPython as error:
        raise NotProvenError(f"{file} is not Python: {error}") from None
    tree = ast.parse(source)
    for line, reason in unseen_by_coverage(tree, parser):
        if line in shown:
            raise NotProvenError(f"{file}:{line}: {reason}")
    ran = by_statement(run.contexts(file), parser)
    statements = {parser.first_line(line) for line in shown} & parser.statements
    body = statements & body_statements(tree, parser)
    require_tests(file, only(ran, body), run)
    require_import(file, only(ran, statements - body), run)
    return run.fewest_tests(only(ran, statements), file) or any_test_of(file, ran, run)


def require_tests(file: str, ran: Contexts, run: RecordedRun) -> None:
    """Each line ran in a passing test; otherwise the reason says what came closest."""
    unproven = {line: names for line, names in ran.items() if not any(run.passed(name) for name in names)}
    if not unproven:
        return
    lines = line_ranges(set(unproven))
    names = {name for contexts in unproven.values() for name in contexts}
    not_passed = sorted(name for name in names if name in run.tests)
    if not_passed:
        raise NotProvenError(f"{file} {lines} ran only in a test that did not pass: {not_passed[0]}; make it pass")
    if names:
        raise NotProvenError(
            f"{file} {lines} ran only while modules were imported or in a fixture that tests share; run it in a test"
        )
    raise NotProvenError(f"{file} {lines} ran in no passing test; write a test that runs it, or do not show it")


def require_import(file: str, ran: Contexts, run: RecordedRun) -> None:
    require_tests(
        file, {line: names for line, names in ran.items() if not any(run.imported(name) for name in names)}, run
    )


def any_test_of(file: str, ran: Contexts, run: RecordedRun) -> tuple[str, ...]:
    """The evidence for a block that only an import runs: the test that runs most of its file."""
    tests = run.fewest_tests(ran, file)
    if not tests:
        raise NotProvenError(
            f"{file} was imported at most, but no passing test runs any of it; write a test that uses it"
        )
    return tests[:1]


def body_statements(tree: ast.Module, parser: PythonParser) -> set[int]:
    """The statements that stand inside a function, where running is more than being imported."""
    functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
    inside = [statement for function in functions for child in function.body for statement in ast.walk(child)]
    return {parser.first_line(first_lineno(node)) for node in inside if isinstance(node, ast.stmt)}


def first_lineno(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, (*FUNCTIONS, ast.ClassDef)) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def unseen_by_coverage(tree: ast.Module, parser: PythonParser) -> Iterator[tuple[int, str]]:
    """Lines on which something can stay unrun though the line ran, with what to write instead."""
    begun: set[int] = set()
    for node in walk_in_order(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=value)) if value is Ellipsis:
                pass
            case ast.stmt() | ast.ExceptHandler():
                line = parser.first_line(node.lineno)
                if line in begun:
                    yield line, "a second statement on one line could stay unrun unseen; give it its own line"
                begun.add(line)
            case ast.match_case():
                begun.add(parser.first_line(node.pattern.lineno))
            case ast.Lambda():
                yield node.lineno, "a lambda's body could stay unrun unseen; write a function with its own lines"
            case ast.IfExp():
                yield node.lineno, "one arm of `a if b else c` stays unrun unseen; write an `if` statement"
            case _:
                pass


def walk_in_order(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield child
        yield from walk_in_order(child)


def source_of(block: Block, root: Path) -> Path:
    """The one file the block comes from. Raises `NotProvenError` when it is made of several."""
    files = {origin.file for origin in block.origins}
    if len(files) != 1:
        names = ", ".join(sorted(file.as_posix() for file in files)) or "no file"
        raise NotProvenError(f"the block is made of {names}; show one file in a block")
    return root / files.pop()
