"""Each test looks at a process of its own: in the one of the tests everything has been imported and run already."""

import subprocess
import sys
from pathlib import Path

import pytest

REQUEST_PARENT = """
import os, resource, socket, sys
from pathlib import Path
from flask import Flask, render_template
from melee.web.exchange import Request, request_message
from melee.web.request_child import serve_requests
from melee.web.warm_up import warm_up

app = Flask("guests", root_path=sys.argv[1])
ran = []
app.before_request(lambda: ran.append("before"))
app.add_url_rule("/", view_func=lambda: render_template("guests.html", name="Ada"))
nobody = "127.0.0.1", 0
request = Request("", "GET", b"/", b"", "1.1", "http", nobody, nobody, [(b"host", b"localhost")], 0, b"")

def serve():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(request_message(request))
        serve_requests(app, theirs, 1)
        return ours.recv(65536)

def pages_copied_by_a_child():
    reading, writing = os.pipe()
    if os.fork() == 0:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        serve()
        os.write(writing, str(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before).encode())
        os._exit(0)
    os.wait()
    return int(os.read(reading, 20))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "guests.html").write_text("<p>{{ name }}</p>")
    return tmp_path


def run(folder: Path, source: str) -> str:
    command = [sys.executable, "-c", REQUEST_PARENT + source, str(folder)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def test_a_child_imports_nothing_more_for_its_request(folder: Path) -> None:
    source = "warm_up(app); known = set(sys.modules); assert b'Ada' in serve(); print(set(sys.modules) - known)"
    assert run(folder, source) == "set()\n"


def test_without_it_a_child_would_import_modules(folder: Path) -> None:
    source = "known = set(sys.modules); serve(); print(set(sys.modules) - known)"
    assert run(folder, source) != "set()\n"


def test_a_child_copies_fewer_pages_of_its_parent(folder: Path) -> None:
    """A page that is copied is what a child mostly pays with time for."""
    cold, warm = map(
        int, run(folder, "print(pages_copied_by_a_child()); warm_up(app); print(pages_copied_by_a_child())").split()
    )
    assert warm < 0.7 * cold


def test_templates_are_compiled_before_the_first_child(folder: Path) -> None:
    source = """
warm_up(app)
Path(sys.argv[1], "templates", "guests.html").unlink()
assert b"<p>Ada</p>" in serve()
"""
    run(folder, source)


def test_a_broken_template_is_the_business_of_whoever_renders_it(folder: Path) -> None:
    (folder / "templates" / "broken.html").write_text("{% if %}")
    (folder / "templates" / "latin.html").write_bytes(b"\xe9")
    (folder / "templates" / "deep.html").write_text("{{ " + "(" * 10_000)
    (folder / "templates" / "zoe.html").write_text("<p>Zoe</p>")
    source = """
warm_up(app)
print(b"<p>Ada</p>" in serve())
# One that comes after them is compiled all the same.
Path(sys.argv[1], "templates", "zoe.html").unlink()
with app.app_context():
    print(render_template("zoe.html"))
"""
    assert run(folder, source) == "True\n<p>Zoe</p>\n"


@pytest.mark.parametrize("problem", ["NoSuchExtension", "Failing"])
def test_an_extension_that_fails_is_the_business_of_whoever_renders_a_template(folder: Path, problem: str) -> None:
    source = f"""
from jinja2.ext import Extension

class Failing(Extension):
    def preprocess(self, source, name, filename=None):
        raise RuntimeError("x")

app.jinja_options = {{"extensions": ["__main__.{problem}"]}}
warm_up(app)
print(b"500 Something went wrong" in serve() or b"Internal Server Error" in serve())
"""
    assert run(folder, source) == "True\n"


def test_a_loader_that_cannot_list_its_templates_is_left_alone(folder: Path) -> None:
    source = """
from jinja2 import FunctionLoader
app.jinja_loader = FunctionLoader(lambda name: "<p>{{ name }}</p>")
warm_up(app)
print(b"<p>Ada</p>" in serve())
"""
    assert run(folder, source) == "True\n"


def test_no_request_is_made_to_the_app(folder: Path) -> None:
    assert run(folder, "warm_up(app); print(ran); serve(); print(ran)") == "[]\n['before']\n"


def test_an_app_that_is_not_flask_is_not_touched(folder: Path) -> None:
    run(folder, "warm_up(lambda environ, start_response: 1 / 0)")
