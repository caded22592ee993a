"""Python written in the page: run as it stands, in an empty folder, and what it prints is what its `#>` lines say.

All of standard output is compared, in order, with all `#>` lines of the block: a `print` without one fails, and so does
a `#>` under a `print` that never ran. Every line has to run, since a function that is only defined proves nothing.
`pycon` blocks (`>>> …`) are run by doctest. Each block has its own process.
"""

import json
import os
import subprocess
import sys
import tempfile
import tokenize
from io import StringIO
from pathlib import Path

from melee_docs.blocks import Block
from melee_docs.proofs.running import unmeasured
from melee_docs.proofs.verdict import NotProvenError

TIME_LIMIT_SECONDS = 60
OURS = Path(__file__).parents[2]


def prove(block: Block, root: Path) -> tuple[str, ...]:
    """Runs the block. Raises `NotProvenError` with the line of the page."""
    with tempfile.TemporaryDirectory(prefix="melee-page-") as folder:
        example, empty = Path(folder, "example.json"), Path(folder, "work")
        empty.mkdir()
        facts = {
            "session": block.language == "pycon",
            "source": block.text.rstrip("\n") + "\n",
            "page": block.page.as_posix(),
        }
        example.write_text(json.dumps(facts), encoding="utf-8")
        try:
            ended = subprocess.run(
                [sys.executable, "-m", "melee_docs.proofs.example", str(example)],
                cwd=empty,
                env=unmeasured(os.environ) | {"PYTHONPATH": os.pathsep.join([str(root.resolve()), str(OURS)])},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=TIME_LIMIT_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise NotProvenError(f"still running after {TIME_LIMIT_SECONDS} s; show something that ends") from None
        came_to_its_end = not example.exists()
    if ended.returncode:
        raise failure(ended.stderr, ended.returncode, len(block.origins))
    if not came_to_its_end:
        raise NotProvenError("the example ended its process before all of it ran; let it run to its end")
    if block.language != "pycon":
        compare_output(ended.stdout.splitlines(), output_shown(block.text))
    return ("run where it stands, output equal",)


def failure(errors: str, exit_code: int, lines: int) -> NotProvenError:
    """What the example's last line of standard error says; it begins with one of its `lines` where that is known."""
    last = (errors.strip().splitlines() or [""])[-1]
    line, _, reason = last.partition(":")
    if line.isdigit() and 1 <= int(line) <= lines:
        return NotProvenError(reason.strip(), int(line) - 1)
    return NotProvenError(f"ended with exit code {exit_code}{last and f': {last}'}; correct the block")


def output_shown(source: str) -> list[tuple[int, str]]:
    """The `#>` comments of the source: line, counted from 0, and text."""
    tokens = tokenize.generate_tokens(StringIO(source).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT and token.string.startswith("#>")]
    return [(token.start[0] - 1, token.string[2:].removeprefix(" ")) for token in comments]


def compare_output(printed: list[str], shown: list[tuple[int, str]]) -> None:
    """Raises `NotProvenError` at the first difference."""
    for (index, claimed), got in zip(shown, printed, strict=False):
        if claimed.rstrip() != got.rstrip():
            reason = f"the page shows `#> {claimed}`, but `{got}` was printed; correct the `#>` line"
            raise NotProvenError(reason, index)
    if len(shown) > len(printed):
        index, claimed = shown[len(printed)]
        reason = f"the page shows `#> {claimed}`, but nothing was printed; remove the `#>` line"
        raise NotProvenError(reason, index)
    if len(printed) > len(shown):
        raise NotProvenError(f"`{printed[len(shown)]}` was printed, but the page does not show it; add a `#>` line")
