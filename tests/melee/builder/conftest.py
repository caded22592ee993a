"""An app with SQL, to be written wrong."""

from pathlib import Path

import pytest

from tests.melee.builder.with_sql import APP, DAYS, NOTES, STATS, Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, text: str) -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    written("app.py", APP)
    written("db/001_notes.sql", NOTES)
    written("db/objects/stats/001_days.sql", DAYS)
    written("lib/stats.py", f"{STATS}        pass\n")
    return written
