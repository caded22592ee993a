"""The SQL of a store, from a file beside this one: each statement after a line `-- its_name`."""

import re
from pathlib import Path

_HEAD = re.compile(r"^-- (\w+)$", re.MULTILINE)


def read_statements(file: str) -> dict[str, str]:
    """The statements of a file by name."""
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    _preface, *parts = _HEAD.split(text)
    return {name: sql.strip().removesuffix(";") for name, sql in zip(parts[::2], parts[1::2], strict=True)}
