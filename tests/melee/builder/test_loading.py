"""`app.py` has to define `app`; the classes that an app has are those that its import defines, whichever way a module
is imported."""

from pathlib import Path

import pytest

from melee.builder.loading import findings, loaded_with_app
from melee.builder.source import Finding
from melee.errors import NotAnApp
from melee.project import Project
from tests.melee.builder.an_app import sources_of, sources_with_one_unread, write_app


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


@pytest.mark.parametrize(
    "app",
    [
        "",
        "from melee import App\napplication = App(__name__)",
        "import flask\ndef make():\n    app = flask.Flask(__name__)\n    return app",
        "class A:\n    app = 1",
        "import app.other",
        "if app: ...",
    ],
)
def test_an_app_py_without_an_app_is_told_in_the_words_of_its_load(tmp_path: Path, app: str) -> None:
    [finding] = findings(sources_of(tmp_path, app=app.replace("import app.other", "app.other = 1")))
    (tmp_path / "app.py").write_text("")
    with pytest.raises(NotAnApp) as caught:
        Project.at(tmp_path).load()
    assert finding == Finding("app.py", 1, 1, caught.value.problem)


@pytest.mark.parametrize(
    "app",
    [
        "import flask\napp = flask.Flask(__name__)",
        "app: object = 1",
        "app, db = 1, 2",
        "from lib import app",
        "from lib import make as app",
        "import lib as app",
        "from lib import *",
        "def app(environ, start_response): ...",
        "class app: ...",
        "if True:\n    for app in 'a': ...",
        "with open('x') as app: ...",
        "print(app := 1)",
        "def make():\n    global app\n    app = 1\nmake()",
    ],
)
def test_whatever_gives_app_py_the_name_is_an_app(tmp_path: Path, app: str) -> None:
    assert findings(sources_of(tmp_path, app=app)) == []


def test_an_app_py_that_cannot_be_read_may_have_one(tmp_path: Path) -> None:
    write_app(tmp_path)
    assert findings(sources_with_one_unread(tmp_path, "app.py")) == []
