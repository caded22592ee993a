"""From an app's folder to its objects: what the folder says is what they have."""

from pathlib import Path

from melee import now
from melee.testing import AppUnderTest
from tests.melee.cli.small_app import write_app


def test_what_melee_toml_says_is_what_the_app_has(tmp_path: Path) -> None:
    folder = write_app(tmp_path / "small")
    (folder / "melee.toml").write_text('[app]\ntimezone = "Asia/Tokyo"\n[objects]\nopen_at_most = 1\n')
    with AppUnderTest(folder) as app:
        assert now().isoformat() == "2030-01-01T09:00:00+09:00"
        app.client.get("/")
        app.classes["Stats"].get("other").hit()  # type: ignore[attr-defined]
        assert not app.evict("Stats", "visits")
        assert app.evict("Stats", "other")
