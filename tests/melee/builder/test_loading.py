"""The classes that an app has are those that its import defines, whichever way a module is imported."""

from pathlib import Path

import pytest

from melee.builder.loading import loaded_with_app
from tests.melee.builder.an_app import sources_of


@pytest.mark.parametrize(
    ("app", "loaded"),
    [
        ("import lib.stats", {"app", "lib", "lib.stats", "lib.far"}),
        ("from lib import stats", {"app", "lib", "lib.stats", "lib.far"}),
        ("from lib.stats import x", {"app", "lib", "lib.stats", "lib.far"}),
        ("import lib", {"app", "lib"}),
        ("try:\n    import lib.far\nexcept ImportError: ...", {"app", "lib", "lib.far"}),
        ("def f():\n    import lib.far", {"app"}),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import lib.far", {"app"}),
        ("import lib.gone, os", {"app", "lib"}),
    ],
)
def test_what_app_py_imports_is_loaded_with_it(tmp_path: Path, app: str, loaded: set[str]) -> None:
    files = {"lib/__init__": "", "lib/stats": "from . import far\nfrom app import app", "lib/far": "", "alone": ""}
    assert loaded_with_app(sources_of(tmp_path, app=app, **files)) == loaded
