"""Configuration, read by what it is for."""

import pytest

from melee_docs.proofs import config
from melee_docs.proofs.verdict import NotProvenError
from tests.melee_docs.a_project import in_page


@pytest.mark.parametrize(
    ("language", "text", "title", "evidence"),
    [
        ("toml", "[objects]\nidle_seconds = 5\n", "melee.toml", "read by melee"),
        ("toml", "[project]\nname = 'x'\n", "pyproject.toml", "read as TOML"),
        ("ini", "[Service]\nExecStart=melee server\n", "", "read as INI"),
        ("yaml", "on:\n  - push\n", "", "read as YAML"),
        ("json", '{"a": 1}\n', "", "read as JSON"),
    ],
)
def test_a_block_that_its_program_reads_is_proven(language: str, text: str, title: str, evidence: str) -> None:
    assert config.prove(in_page(language, text, title=title)) == (evidence,)


@pytest.mark.parametrize(
    ("language", "text", "title"),
    [
        ("toml", "[objects]\nidel_seconds = 5\n", "melee.toml"),
        ("toml", "[project\n", ""),
        ("ini", "no section = 1\n", ""),
        ("yaml", "a: [1\n", ""),
        ("json", "{a: 1}\n", ""),
    ],
)
def test_a_block_that_its_program_cannot_read_is_refused(language: str, text: str, title: str) -> None:
    with pytest.raises(NotProvenError, match=r"; correct the block$"):
        config.prove(in_page(language, text, title=title))
