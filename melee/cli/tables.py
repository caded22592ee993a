"""Tables: with lines and within its width for a terminal, plain and never cut for a pipe or a file."""

from collections.abc import Iterable, Sequence

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from melee.words import visible

# Wider than any table; what goes to a file is not folded.
_UNLIMITED = 1_000_000


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints rows under the names of their columns. A text is shown as it is: no markup, control characters escaped."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _UNLIMITED
    style = box.SIMPLE_HEAD if console.is_terminal else None
    table = Table(box=style, pad_edge=bool(style), header_style="bold", padding=(0, 1) if style else (0, 2, 0, 0))
    for name in columns:
        table.add_column(Text(visible(name)), overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as printed:
        console.print(table)
    for line in printed.get().splitlines():
        click.echo(line.rstrip())
