"""The line under a block: what proves it, why it is not run, or what is wrong."""

import html
from collections.abc import Callable

from melee_docs.blocks import Block
from melee_docs.ledger import Proof
from melee_docs.report import short_name

NAMED_TESTS = 2


def proof_line(proof: Proof, block: Block, link: Callable[[str], str]) -> str:
    """HTML for a block and its proof; `link` gives the address at which a test's source is shown."""
    if not proof.holds:
        return problem_line(proof.problem)
    if block.skip:
        return _line("proof proof--skipped", f"not run: {html.escape(block.skip)}")
    return _line("proof", f"✓ {_evidence(proof, link)}")


def problem_line(problem: str) -> str:
    return _line("proof proof--missing", f"✗ {html.escape(problem)}")


def _line(classes: str, content: str) -> str:
    return f'<div class="{classes}" data-search-exclude>{content}</div>'


def _evidence(proof: Proof, link: Callable[[str], str]) -> str:
    tests = {short_name(test): test for test in reversed(proof.evidence) if "::" in test}
    if not tests:
        return html.escape("; ".join(proof.evidence))
    names = [f'<a href="{html.escape(link(tests[name]))}">{html.escape(name)}</a>' for name in reversed(tests)]
    more = f" and {len(names) - NAMED_TESTS} more" if len(names) > NAMED_TESTS else ""
    return f"{'rendered' if proof.kind == 'rendered' else 'proven'} by {', '.join(names[:NAMED_TESTS])}{more}"
