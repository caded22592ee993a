"""The place of a mistake in SQL, however the text is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.melee.builder.with_sql import APP, NOTES, found

PLAIN = "abc xyz é✓\U0001f40d'\"\\{}%\n\t"


def in_quotes(text: str, prefix: str, quote: str) -> str:
    """Python source of a string with this text."""
    if prefix == "r":
        return f"r{quote}{text}{quote}"
    written = text.replace("\\", "\\\\").replace(quote[0], f"\\{quote[0]}")
    if len(quote) == 1:
        written = written.replace("\n", "\\n")
    return prefix + quote + (written.replace("{", "{{").replace("}", "}}") if prefix == "f" else written) + quote


def can_be_raw(text: str, quote: str) -> bool:
    return quote[0] not in text and not text.endswith("\\") and (len(quote) == 3 or "\n" not in text)


@st.composite
def pieces(draw: st.DrawFn, text: str) -> str:
    """Source of a text in one or more strings side by side, each quoted in a way of its own."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    parts = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    written = []
    for part in parts:
        quote = draw(st.sampled_from(["'", '"', "'''", '"""']))
        prefix = draw(st.sampled_from(["", "f", "r"] if can_be_raw(part, quote) else ["", "f"]))
        written.append(in_quotes(part, prefix, quote))
    return draw(st.sampled_from([" ", "\n    ", "  # é'\n", "\\\n"])).join(written)


# In a comment of SQL anything may stand before the mistake.
fillers = st.text(PLAIN, max_size=12)


@given(st.data(), fillers, fillers, st.text("é✓a ", max_size=5))
def test_the_place_is_that_of_the_wrong_name_however_the_text_is_written(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, before: str, after: str, indent: str
) -> None:
    written = data.draw(pieces(f"SELECT /*{before}*/ ")), data.draw(pieces(f" /*{after}*/ FROM notes"))
    escaped = data.draw(st.sampled_from(["", "'\\\n'", "'\\x20'", "'\\N{SPACE}'", "'\\u0020\\U00000020\\40'", "'\\t'"]))
    argument = f"({written[0]} {escaped} 'vews' {written[1]})"
    source = f"{APP}def notes(): # {indent}\n    return '{indent}', app.db.query({argument})\n"
    folder = tmp_path_factory.mktemp("app")
    (folder / "db").mkdir()
    (folder / "db" / "001_notes.sql").write_text(NOTES)
    (folder / "app.py").write_text(source, encoding="utf-8")
    [finding] = found(folder)
    assert finding.problem.startswith("no such column: vews")
    assert source.split("\n")[finding.line - 1][finding.column - 1 :].startswith("vews")
