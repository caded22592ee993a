"""`python -m melee_docs prove`: finds every block of the guide, proves it, and writes down what it found."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

import click
from rich.console import Console
from rich.progress import track

from melee_docs.blocks import Block, BlockError, collect
from melee_docs.coverage import RECORD
from melee_docs.ledger import LEDGER, Ledger, Proof, counted
from melee_docs.prover import prove, skips_at_most
from melee_docs.report import write_report, write_test_pages

HELP = f"""Ties the pages of a guide to proofs.

\b
First record which lines the tests run, then prove the pages:
  {RECORD}
  python -m melee_docs prove
"""


@click.group(help=HELP)
def main() -> None:
    pass


@main.command("prove")
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="The folder that holds mkdocs.yml and docs/. Default: the current one.",
)
def prove_command(root: Path) -> None:
    """Prove every block of the guide.

    \b
    Python from a file   every line shown ran in a passing test
    Python in the page   run where it stands, its output is what `#>` says
    sql                  applied to, or prepared against, a migrated database
    html, jinja          rendered by a passing test
    console              run, its output is what the page shows
    mermaid              drawn
    toml ini yaml json   melee.toml read by melee, others as their language says

    Writes .proof/proof.json and .proof/report.md, and docs/about/tests/ with the sources of the tests. Ends with exit
    code 1 and a line `docs/x.md:41: reason; what to do` for each block without a proof.
    """
    root = root.resolve()
    blocks = found(root)
    ledger = Ledger.of(proven(blocks, root), skips_at_most(root))
    ledger.write(root / LEDGER)
    report = write_report(ledger, root)
    pages = write_test_pages(ledger, root)
    click.echo(f"wrote {LEDGER}, {report.relative_to(root)} and {counted(len(pages), 'page')} of tests")
    click.echo(ledger.summary)
    if ledger.problems:
        fail(ledger.problems)
    if ledger.skips < ledger.skips_at_most:
        click.echo(f"{counted(ledger.skips, 'block')} not run: lower [tool.melee_docs] skips_at_most to {ledger.skips}")


def found(root: Path) -> list[Block]:
    try:
        blocks = collect(root)
    except BlockError as error:
        fail([str(problem) for problem in error.problems])
    click.echo(f"found {counted(len(blocks), 'block')} on {counted(len({block.page for block in blocks}), 'page')}")
    return blocks


def proven(blocks: list[Block], root: Path) -> Iterable[Proof]:
    """The proofs, with a progress bar on a terminal."""
    terminal = Console(stderr=True)
    return track(
        prove(blocks, root),
        "proving",
        total=len(blocks),
        console=terminal,
        disable=not terminal.is_terminal,
        transient=True,
    )


def fail(problems: list[str]) -> NoReturn:
    for problem in problems:
        click.echo(problem, err=True)
    click.echo(counted(len(problems), "problem"), err=True)
    sys.exit(1)


if __name__ == "__main__":
    main(prog_name="python -m melee_docs")
