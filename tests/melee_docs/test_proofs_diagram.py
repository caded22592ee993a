"""Diagrams, drawn by Mermaid itself."""

import pytest

from melee_docs.proofs import diagram
from melee_docs.proofs.verdict import NotProvenError
from tests.melee_docs.a_project import in_page


def test_a_diagram_that_mermaid_draws_is_proven() -> None:
    assert diagram.prove(in_page("mermaid", "sequenceDiagram\n  page->>object: hit()\n")) == ("drawn by Mermaid",)


@pytest.mark.parametrize("text", ["flowchart LR\n  a --->>>[b\n", "no diagram at all\n"])
def test_a_diagram_that_mermaid_cannot_read_is_refused_in_its_words(text: str) -> None:
    with pytest.raises(NotProvenError, match=r"(Parse error on line 2|No diagram type).*; correct the diagram"):
        diagram.prove(in_page("mermaid", text))
