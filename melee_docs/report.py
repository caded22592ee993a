"""Writes what a reader may look at: the table of all proofs, and the sources of the tests that prove something.

`.proof/report.md` is a fragment that the page *How this guide is proven* includes; it is written for a page in
`docs/about/`. `docs/about/tests/` has a page for each test file, `tests-examples-test_board.md`, with an anchor for
each test, `#test_x`.
"""

import ast
import re
import shutil
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path, PurePosixPath

from melee_docs.blocks import DOCS, GENERATED
from melee_docs.ledger import FOLDER, Ledger, Proof

FRONT_MATTER = """---
title: {file}
search:
  exclude: true
---

# `{file}`
"""


def write_report(ledger: Ledger, root: Path) -> Path:
    """Writes the fragment and answers with its path."""
    sections = [
        page_section(page, list(proofs)) for page, proofs in groupby(ledger.proofs, key=lambda proof: proof.page)
    ]
    target = root / FOLDER / "report.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join([f"{ledger.summary}.\n", *sections]), encoding="utf-8")
    return target


def page_section(page: str, proofs: list[Proof]) -> str:
    head = f"### [{page}]({from_about(page)})\n\n| line | language | proof | shown by |\n| ---: | --- | --- | --- |\n"
    return head + "".join(row(proof) for proof in proofs)


def row(proof: Proof) -> str:
    shown_by = f"✗ {cell(proof.problem)}" if proof.problem else "<br>".join(evidence(name) for name in proof.evidence)
    return f"| {proof.page_line} | {cell(proof.language)} | {proof.kind} | {shown_by} |\n"


def evidence(name: str) -> str:
    if "::" not in name:
        return cell(name)
    file, _, test = name.partition("::")
    return f"[`{cell(test)}`]({PurePosixPath(GENERATED).name}/{page_name(file)}.md#{short_name(test)})"


def cell(text: str) -> str:
    """Text that stays inside a table's cell and is read as text."""
    return (
        text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;").replace("*", "&#42;").replace("\n", " ")
    )


def from_about(page: str) -> str:
    return "../" + Path(page).relative_to(DOCS).as_posix()


def page_name(file: str) -> str:
    """`tests/examples/test_board.py` is shown on the page `tests-examples-test_board`."""
    return file.removesuffix(".py").replace("/", "-")


def short_name(test: str) -> str:
    """`tests/test_board.py::TestBoard::test_x[1]` is `test_x` for a reader, and stands at `#test_x` of its page."""
    return test.partition("[")[0].rpartition("::")[2]


def write_test_pages(ledger: Ledger, root: Path) -> list[Path]:
    """Writes a page for each test file that proves something; pages of an earlier run go."""
    folder = root / DOCS / GENERATED
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    files = sorted({name.partition("::")[0] for proof in ledger.proofs for name in proof.evidence if "::" in name})
    pages = [folder / f"{page_name(file)}.md" for file in files]
    for file, page in zip(files, pages, strict=True):
        page.write_text(source_page(file, (root / file).read_text(encoding="utf-8")), encoding="utf-8")
    return pages


def source_page(file: str, source: str) -> str:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", source)), default=0))
    parts = [FRONT_MATTER.format(file=file)]
    for name, code in by_test(source):
        parts += [f"## `{name}` {{ #{name} }}\n"] if name else []
        parts += [f"{fence}python\n{code}\n{fence}\n"] if code else []
    return "\n".join(parts)


def by_test(source: str) -> Iterator[tuple[str, str]]:
    """The source cut before each test function: its name, or none for what comes before the first, and its text."""
    functions = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    tests = sorted((first_line(node), node.name) for node in functions if node.name.startswith("test"))
    lines = source.splitlines()
    for (start, name), (end, _) in pairwise([(0, ""), *tests, (len(lines), "")]):
        yield name, "\n".join(lines[start:end]).strip("\n")


def first_line(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Counted from 0, decorators included."""
    return min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)]) - 1
