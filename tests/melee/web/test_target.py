"""What can be served: an app's folder, Flask, Django, any callable of WSGI; and what is said of all else."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from melee.errors import BadConfig, NotAnApp
from melee.web.target import AppFolder, PlainCallable, target_named
from tests.conftest import write_app
from tests.melee.web.parent import problem_of, request_parent
from tests.melee.web.served import GET, get, post

PLAIN = """
def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [__name__.encode()]

class Site:
    app = staticmethod(app)
"""

FLASK = """
from flask import Flask, request

app = Flask(__name__)

@app.route("/<path:rest>", methods=["GET", "POST"])
def show(rest):
    return [rest, request.args.get("q"), request.get_data(as_text=True), request.cookies, request.remote_addr]

@app.get("/stream")
def stream():
    return (str(number) for number in range(3))
"""

DJANGO = """
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import JsonResponse, StreamingHttpResponse
from django.urls import path

settings.configure(ALLOWED_HOSTS=["melee.example"], ROOT_URLCONF=__name__, SECRET_KEY="x")

def show(request, rest):
    told = [rest, request.GET.get("q"), request.body.decode(), request.COOKIES, request.META["REMOTE_ADDR"]]
    return JsonResponse(told, safe=False)

def stream(request):
    return StreamingHttpResponse(str(number) for number in range(3))

urlpatterns = [path("stream", stream), path("<path:rest>", show)]
app = get_wsgi_application()
"""

MELEE = """
import melee
from melee import App, Durable

app = App(__name__)

class Stats(Durable):
    def hit(self): ...

@app.get("/zone")
def zone():
    return str(melee.now().tzinfo)

@app.get("/hit")
def hit():
    try:
        Stats.get("visits").hit()
    except Exception as error:
        return str(error)
"""


@pytest.fixture
def importing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The modules of a test may be imported; they are forgotten afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in ("shop", "cart"):
        sys.modules.pop(name, None)


@pytest.mark.slow
def test_a_callable_is_served_from_where_it_is_in_a_package(tmp_path: Path) -> None:
    _write(tmp_path, {"shop/__init__.py": "", "shop/web.py": PLAIN})
    for target in ("shop.web:app", "shop.web:Site.app"):
        with request_parent(target, tmp_path) as parent:
            assert parent.answer().body == b"shop.web"


@pytest.mark.slow
@pytest.mark.parametrize("source", [FLASK, DJANGO])
def test_a_plain_app_of_a_framework_is_served(tmp_path: Path, source: str) -> None:
    _write(tmp_path, {"site_of.py": source})
    with request_parent("site_of:app", tmp_path) as parent:
        cookie = (b"cookie", b"a=1; b=2")
        read = parent.answer(get(b"/caf%C3%A9", [*GET.headers, cookie], query=b"q=%2F"))
        assert json.loads(read.body) == ["café", "/", "", {"a": "1", "b": "2"}, "192.0.2.7"]
        for header in ((b"content-length", b"4"), (b"transfer-encoding", b"chunked")):
            written = parent.answer(post(b"some", [*GET.headers, header], path=b"/x"))
            assert json.loads(written.body) == ["x", None, "some", {}, "192.0.2.7"]
        assert parent.answer(get(b"/stream")).body == b"012"
        assert parent.answer(get(b"/x", method="HEAD")).body == b""


@pytest.mark.slow
def test_an_app_folder_is_served_with_its_clock_and_its_objects(tmp_path: Path) -> None:
    folder = write_app(tmp_path / "board", MELEE)
    (folder / "melee.toml").write_text('[app]\ntimezone = "Europe/Paris"\n')
    with request_parent(str(folder), tmp_path) as parent:
        assert parent.answer(get(b"/zone")).body == b"Europe/Paris"
        assert b"Stats/visits.hit did not run: no object worker listens" in parent.answer(get(b"/hit")).body


@pytest.mark.parametrize(
    ("target", "files", "problem"),
    [
        ("nothing:app", {}, "it does not load: ModuleNotFoundError: No module named 'nothing'"),
        ("shop.web:app", {"shop.py": ""}, "it does not load: ModuleNotFoundError: No module named 'shop.web'; 'shop'"),
        ("shop:app", {"shop.py": "x = 1"}, "the module shop has no `app`"),
        ("shop:", {"shop.py": "x = 1"}, "the module shop has no ``"),
        ("shop:x.y", {"shop.py": "x = 1"}, "the module shop has no `x.y`"),
        (":app", {}, "it does not load: ValueError: Empty module name"),
        ("shop:app", {"shop.py": "app = 1"}, "it is a int, which cannot be called as WSGI apps are"),
        ("shop:app", {"shop.py": "x = 1\ny = ("}, "it does not load: shop.py:2: SyntaxError: '(' was never closed"),
        ("shop:app", {"shop.py": "\nimport nothing"}, "it does not load: shop.py:2: ModuleNotFoundError: No module"),
        ("shop:app", {"shop.py": "import cart", "cart.py": "1 / 0"}, "it does not load: cart.py:1: ZeroDivisionError"),
        ("shop:app", {"shop.py": "raise ValueError('a\\nb')"}, "it does not load: shop.py:1: ValueError: a b"),
        ("shop:app", {"shop.py": "\n\nraise SystemExit(0)"}, "it does not load: shop.py:3: SystemExit: 0"),
    ],
)
def test_what_does_not_load_is_named_in_one_line_with_its_place_and_the_reason(
    importing: None, tmp_path: Path, target: str, files: dict[str, str], problem: str
) -> None:
    _write(tmp_path, files)
    with pytest.raises(NotAnApp) as raised:
        target_named(target, tmp_path).load()
    said = str(raised.value)
    assert said.startswith(f"{target} is not an app: {problem}")
    assert "\n" not in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"shop.py": "raise SystemExit(0)"}, "shop:app is not an app: it does not load: shop.py:1: SystemExit: 0"),
        ({"shop.py": "app = print", "melee.toml": "x = 1"}, "melee.toml: Object contains unknown field `x`"),
    ],
)
def test_a_request_parent_says_why_it_does_not_load_and_ends(
    tmp_path: Path, files: dict[str, str], problem: str
) -> None:
    _write(tmp_path, files)
    assert problem in problem_of("shop:app", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("import sys\nsys.exit('no')", "app.py does not load: app.py:2: SystemExit: no"),
        ("app = 1", "app.py defines no `app`"),
    ],
)
def test_so_is_a_folder_whose_app_does_not_load(tmp_path: Path, source: str, problem: str) -> None:
    folder = write_app(tmp_path / "board", source)
    assert problem_of(str(folder), tmp_path).startswith(f"{folder} is not an app: {problem}")


def test_a_name_is_a_callable_when_there_is_no_such_folder(tmp_path: Path) -> None:
    write_app(tmp_path / "a:b", "")
    write_app(tmp_path / "board", "")
    assert target_named("shop:app", tmp_path) == PlainCallable("shop:app", tmp_path.resolve())
    assert isinstance(target_named("a:b", tmp_path), AppFolder)
    assert target_named("board", tmp_path).folder == tmp_path.resolve() / "board"
    with pytest.raises(NotAnApp, match=r"it has no app\.py"):
        target_named("nothing", tmp_path)


def test_a_callable_is_configured_by_the_file_beside_it(tmp_path: Path) -> None:
    assert target_named("shop:app", tmp_path).config.web.slots == 4
    (tmp_path / "melee.toml").write_text("[web]\nslots = 7\n")
    assert target_named("shop:app", tmp_path).config.web.slots == 7
    (tmp_path / "melee.toml").write_text("[web]\nslots = 0\n")
    with pytest.raises(BadConfig, match="slots"):
        _ = target_named("shop:app", tmp_path).config


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
