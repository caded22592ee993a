"""An app's folder: what is wrong with it is said in one line."""

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir
from datetime import tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import tzlocal

from melee.errors import BadConfig, NotAnApp
from melee.project import Config, Project, read_config

APP = "def app(environ, start_response): ...\n"

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, text: str) -> Path:
        file = tmp_path / "board" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    return written


@pytest.fixture
def folder(write: Write) -> Path:
    return write("app.py", APP).parent


@pytest.fixture(autouse=True)
def _path_and_modules_as_before() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def zone_of(text: str) -> tzinfo:
    return read_config(text).zone


def test_every_key_is_optional() -> None:
    config = read_config("")
    assert config == Config()
    assert (config.objects.idle_seconds, config.objects.open_at_most) == (60, 200)
    assert config.zone == tzlocal.get_localzone()


def test_what_is_written_is_read() -> None:
    config = read_config('[app]\ntimezone = "Europe/Paris"\n[objects]\nidle_seconds = 2.5\nopen_at_most = 1\n')
    assert config.zone == ZoneInfo("Europe/Paris")
    assert (config.objects.idle_seconds, config.objects.open_at_most) == (2.5, 1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[object]\n", "unknown field `object`"),
        ("[objects]\nidle = 1\n", "unknown field `idle` - at `$.objects`"),
        ("[objects]\nidle_seconds = 0\n", "> 0.0 - at `$.objects.idle_seconds`"),
        ("[objects]\nidle_seconds = nan\n", "> 0.0 - at `$.objects.idle_seconds`"),
        ('[objects]\nidle_seconds = "60"\n', "Expected `float`, got `str` - at `$.objects.idle_seconds`"),
        ("[objects]\nopen_at_most = 0\n", ">= 1 - at `$.objects.open_at_most`"),
        ("[objects\n", "(at line 1, column 9)"),
        ('[app]\ntimezone = "Paris"\n', "timezone 'Paris' is no IANA time zone; write one such as Europe/Paris"),
        ('[app]\ntimezone = "../etc/passwd"\n', "timezone '../etc/passwd' is no IANA time zone"),
        ('[server]\ntrusted_proxies = ["proxy"]', "[server] trusted_proxies: 'proxy' does not appear to be an IPv4"),
        ('[app]\ntimezone = "Europe"\n', "timezone 'Europe' is no IANA time zone"),
    ],
)
def test_a_mistake_is_named_with_its_place_in_one_line(text: str, says: str) -> None:
    with pytest.raises(BadConfig) as caught:
        read_config(text, "/srv/board/melee.toml")
    assert str(caught.value).startswith("/srv/board/melee.toml: ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_of_configuration_is_found_and_named(folder: Path, write: Write) -> None:
    assert Project.at(folder).config == Config()
    file = write("melee.toml", "[objects]\nidle_seconds = 5\n")
    assert Project.at(folder).config.objects.idle_seconds == 5
    file.write_text("[web", encoding="utf-8")
    with pytest.raises(BadConfig, match=f"^{file}: "):
        _ = Project.at(folder).config


def test_a_file_of_configuration_that_is_not_utf_8_is_named(folder: Path, write: Write) -> None:
    file = write("melee.toml", "")
    file.write_bytes("[app]\ntimezone = 'é'".encode("latin-1"))
    with pytest.raises(BadConfig, match=f"^{file}: .*UTF-8"):
        _ = Project.at(folder).config


def test_configuration_that_cannot_be_read_is_not_taken_for_none(folder: Path) -> None:
    (folder / "melee.toml").mkdir()
    with pytest.raises(BadConfig, match=f"^{folder / 'melee.toml'}: it cannot be read: Is a directory$"):
        _ = Project.at(folder).config


def test_a_folder_without_an_app_says_so(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(NotAnApp, match=f"^{folder} is not an app: it has no app.py; name the folder of an app"):
            Project.at(folder)


def test_paths_are_absolute_and_data_can_live_elsewhere(folder: Path, tmp_path: Path) -> None:
    with chdir(folder):
        here = Project.at(Path())
    assert here == Project(folder.resolve(), folder.resolve() / "data")
    assert here.database == folder / "data" / "app.sqlite3"
    assert here.migrations == folder / "db"
    assert here.handles_file == folder / ".melee" / "objects.py"
    assert Project.at(folder, tmp_path / "elsewhere").data == tmp_path / "elsewhere"


def test_the_socket_lies_in_the_data_folder_when_its_path_is_short_enough() -> None:
    assert Project(Path("/srv/a"), Path("/srv/a/data")).orders == Path("/srv/a/data/server.sock")


def test_a_long_path_has_its_socket_in_a_private_folder_of_its_own(tmp_path: Path) -> None:
    long, other = (Project(tmp_path, tmp_path / (letter * 100) / "é" / "data") for letter in "ab")
    assert len(os.fsencode(long.orders)) <= 100
    assert long.orders.parent.stat().st_mode & 0o777 == 0o700
    assert long.orders == Project(tmp_path, long.data).orders != other.orders
    for project in (long, other):
        project.orders.parent.rmdir()


def test_a_socket_is_not_put_into_a_folder_of_somebody_else(tmp_path: Path) -> None:
    theirs = Path("/")
    if os.getuid() == 0:
        theirs = tmp_path / "theirs"
        theirs.mkdir()
        os.chown(theirs, 12345, -1)
    long = Project(tmp_path, tmp_path / ("a" * 100) / "data")
    private = long.orders.parent
    private.rmdir()
    private.symlink_to(theirs)
    try:
        with pytest.raises(NotAnApp, match="belongs to another user; move it to a shorter path"):
            _ = Project(tmp_path, long.data).orders
    finally:
        private.unlink()


def test_an_app_is_loaded_with_what_it_imports(folder: Path, write: Write) -> None:
    write("lib/stats.py", "VALUE = 7\n")
    write("app.py", f"from lib.stats import VALUE\n{APP}")
    assert Project.at(folder).load().VALUE == 7
    assert sys.path[0] == str(folder)


def test_an_app_that_is_loaded_again_is_read_again(folder: Path, write: Write) -> None:
    write("lib/stats.py", "VALUE = 1\n")
    write("app.py", f"from lib.stats import VALUE\n{APP}")
    Project.at(folder).load()
    write("lib/stats.py", "VALUE = 'another'\n")
    assert Project.at(folder).load().VALUE == "another"
    assert sys.path.count(str(folder)) == 1


def test_another_app_with_modules_of_the_same_names_takes_the_place_of_the_first(
    folder: Path, write: Write, tmp_path: Path
) -> None:
    write("lib/stats.py", "VALUE = 'first'\n")
    write("app.py", f"from lib.stats import VALUE\n{APP}")
    second = tmp_path / "second"
    (second / "lib").mkdir(parents=True)
    (second / "lib" / "stats.py").write_text("VALUE = 'second'\n")
    (second / "app.py").write_text(f"from lib.stats import VALUE\n{APP}")
    assert Project.at(folder).load().VALUE == "first"
    assert Project.at(second).load().VALUE == "second"
    assert str(folder) not in sys.path


def test_the_tests_of_an_app_stay_loaded(folder: Path, write: Write) -> None:
    write("tests/helpers.py", "")
    write("app.py", f"import tests_of_the_app\n{APP}")
    write("tests_of_the_app.py", "")
    Project.at(folder).load()
    sys.modules["helpers_of_the_app"] = module = type(sys)("helpers_of_the_app")
    module.__file__ = str(folder / "tests" / "helpers.py")
    Project.at(folder).load()
    assert sys.modules["helpers_of_the_app"] is module


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1\n", "app.py defines no `app`; write `app = App(__name__)`"),
        ("app = 7\n", "app.py defines no `app`; write `app = App(__name__)`"),
        ("x = 1\ny = (\n", "app.py does not load: app.py:2: SyntaxError: '(' was never closed"),
        ("import lib.broken\n", "app.py does not load: lib/broken.py:2: ZeroDivisionError: division by zero"),
        ("import nothing_there\n", "app.py does not load: app.py:1: ModuleNotFoundError: No module named 'nothing_th"),
        ("raise ValueError('two\\nlines')\n", "app.py does not load: app.py:1: ValueError: two lines"),
    ],
)
def test_an_app_that_does_not_load_is_told_its_place_and_reason_in_one_line(
    folder: Path, write: Write, text: str, says: str
) -> None:
    write("lib/broken.py", "x = 0\n1 / x\n")
    write("app.py", text)
    with pytest.raises(NotAnApp) as caught:
        Project.at(folder).load()
    assert str(caught.value).startswith(f"{folder} is not an app: {says}")
    assert "\n" not in str(caught.value)


def test_a_failed_load_leaves_no_half_of_it_for_the_next(folder: Path, write: Write) -> None:
    write("lib/stats.py", "VALUE = 1\n")
    write("app.py", "import lib.stats\n1 / 0\n")
    with pytest.raises(NotAnApp):
        Project.at(folder).load()
    write("lib/stats.py", "VALUE = 'fixed'\n")
    write("app.py", f"from lib.stats import VALUE\n{APP}")
    assert Project.at(folder).load().VALUE == "fixed"


def test_modules_of_the_same_names_from_elsewhere_are_not_taken_for_the_apps(
    folder: Path, write: Write, tmp_path: Path
) -> None:
    write("lib/stats.py", "VALUE = 'ours'\n")
    write("app.py", f"from lib.stats import VALUE\n{APP}")
    other = tmp_path / "other"
    (other / "lib").mkdir(parents=True)
    (other / "lib" / "stats.py").write_text("VALUE = 'theirs'\n")
    (other / "app.py").write_text("import lib.stats\n")
    sys.path.insert(0, str(other))
    importlib.import_module("app")
    loaded = Project.at(folder).load()
    assert (loaded.__file__, loaded.VALUE) == (str(folder / "app.py"), "ours")


def test_an_app_that_its_own_tests_imported_first_is_the_same_app(folder: Path) -> None:
    sys.path.insert(0, str(folder))
    imported = importlib.import_module("app")
    assert Project.at(folder).load() is imported


def test_the_database_is_where_the_environment_says_unless_another_one_is_given(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert Project.at(folder).database_url == ""
    monkeypatch.setenv("DATABASE_URL", "postgres://host/name")
    assert Project.at(folder).database_url == "postgres://host/name"
    assert Project.at(folder, given_url="postgresql://other/name").database_url == "postgresql://other/name"
    assert Project.at(folder, given_url="").database_url == ""


def test_a_database_of_another_kind_is_refused(folder: Path) -> None:
    with pytest.raises(BadConfig, match="it is no URL of Postgres"):
        _ = Project.at(folder, given_url="mysql://host/name").database_url
