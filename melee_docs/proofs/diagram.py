"""Mermaid: drawn by the Mermaid that the site uses, without a browser. The browser tests draw the page itself."""

import mermaidx

from melee_docs.blocks import Block
from melee_docs.proofs.verdict import NotProvenError


def prove(block: Block) -> tuple[str, ...]:
    """Draws the diagram. Raises `NotProvenError` with Mermaid's own words."""
    try:
        mermaidx.render(block.text).svg()
    except RuntimeError as error:
        reason = " ".join(str(error).removeprefix("Mermaid rendering failed: ").split())
        raise NotProvenError(f"{reason}; correct the diagram") from error
    return ("drawn by Mermaid",)
