"""What the board stores, when it is copied elsewhere and run with `melee dev`."""

from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request

import pytest

from tests.examples.copied import ROOT, copy_of, melee_dev, page


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return copy_of(ROOT / "melee_examples" / "board", tmp_path)


def test_the_count_goes_on_when_melee_dev_starts_again(copied: Path) -> None:
    with melee_dev(copied) as url:
        for views in range(1, 6):
            assert f"0 open, {views} views today." in page(url)

    with melee_dev(copied) as url:
        assert "0 open, 6 views today." in page(url)


def test_a_note_survives_that_melee_dev_starts_again(copied: Path) -> None:
    with melee_dev(copied) as url:
        form = urlencode({"text": "Water the plants"}).encode()
        assert "Water the plants" in page(Request(f"{url}notes", form, {"Origin": url.rstrip("/")}))

    with melee_dev(copied) as url:
        assert "Water the plants" in page(f"{url}admin")
