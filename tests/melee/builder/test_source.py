"""The files of an app are read, each that is not Python is said with its place, and names mean what they mean to
Python."""

import ast
import os
from pathlib import Path

import pytest

from melee.builder.names import Names
from melee.builder.source import Finding, Source, read_sources
from tests.melee.builder.an_app import sources_of, write_app


def source_of(text: str, file: str = "lib/x.py") -> Source:
    return Source(file, text, ast.parse(text))


def test_a_finding_is_one_line_and_findings_sort_by_place() -> None:
    findings = [Finding("b.py", 1, 1, "x"), Finding("a.py", 10, 1, "x"), Finding("a.py", 9, 2, "x")]
    assert [str(finding) for finding in sorted(findings)] == ["a.py:9:2: x", "a.py:10:1: x", "b.py:1:1: x"]


def test_what_is_served_is_read_and_nothing_else(tmp_path: Path) -> None:
    served = ["app", "jobs/a", "lib/__init__", "lib/data/b", "lib/tests", "other/deep/c"]
    left_out = ["tests/test_a", "data/a", ".venv/a", ".hidden", "env/lib/a", "node_modules/a", "lib/.x/a"]
    left_out.append("other/node_modules/deep/a")
    write_app(tmp_path, **dict.fromkeys([*served, *(f"./{name}" for name in left_out)], "x = 1"))
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    (tmp_path / "lib" / "notes.txt").write_text("import celery")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / ".#app.py").symlink_to("somebody@somewhere.1")
    os.mkfifo(tmp_path / "lib" / "pipe.py")
    sources, findings = read_sources(tmp_path)
    assert findings == []
    assert [source.file for source in sources] == [
        "app.py",
        "jobs/a.py",
        "lib/__init__.py",
        "lib/tests.py",
        "lib/data/b.py",
        "other/deep/c.py",
    ]


@pytest.mark.parametrize(
    ("content", "line", "column", "problem"),
    [
        (b"x = 1\ny = (\n", 2, 5, "SyntaxError: '(' was never closed"),
        (b"def f():\nreturn 1", 2, 1, "IndentationError: expected an indented block"),
        (b"x = 1\nreturn 1", 2, 1, "SyntaxError: 'return' outside function"),
        (b"x = 1\n\n# caf\xe9", 3, 6, "it is not UTF-8"),
        (b"# -*- coding: nonsense -*-\n", 1, 1, "unknown encoding"),
        (b"# -*- coding: ascii -*-\n\xe9", 2, 1, "it is not ASCII (ordinal not in range(128)); save it as UTF-8"),
        (b"x = 1\ny\x00", 2, 2, "it holds NUL bytes, as UTF-16 does; save it as UTF-8"),
        (b"(" * 10_000, 1, 201, "too many nested parentheses"),
        (b"x = " + b"-" * 200_000 + b"1", 1, 1, ""),
    ],
)
def test_a_file_that_is_not_python_is_said_with_its_place_and_the_rest_is_read(
    tmp_path: Path, content: bytes, line: int, column: int, problem: str
) -> None:
    write_app(tmp_path, lib__good="x = 1")
    (tmp_path / "lib" / "bad.py").write_bytes(content)
    sources, findings = read_sources(tmp_path)
    assert [(source.file, source.is_read) for source in sources] == [
        ("app.py", True),
        ("lib/bad.py", False),
        ("lib/good.py", True),
    ]
    assert not sources[1].tree.body
    assert [finding[:3] for finding in findings] == [("lib/bad.py", line, column)]
    assert problem in findings[0].problem


def test_a_file_that_may_not_be_read_is_said_and_the_rest_is_read(tmp_path: Path) -> None:
    write_app(tmp_path, lib__good="x = 1")
    # It is there, and every read of its beginning is refused, even to root.
    (tmp_path / "lib" / "memory.py").symlink_to("/proc/self/mem")
    sources, findings = read_sources(tmp_path)
    assert [source.file for source in sources if source.is_read] == ["app.py", "lib/good.py"]
    problem = "it cannot be read: Input/output error; make it readable, or remove it"
    assert findings == [Finding("lib/memory.py", 1, 1, problem)]


def test_what_only_looks_odd_is_python(tmp_path: Path) -> None:
    write_app(tmp_path)
    odd = {
        "mark.py": b"\xef\xbb\xbfx = 1",
        "latin.py": "# -*- coding: latin-1 -*-\nx = 'é'".encode("latin-1"),
        "windows.py": b"x = 1\r\ny = 2\r\n",
        "escape.py": rb"x = '\d'",
        "empty.py": b"",
    }
    for name, content in odd.items():
        (tmp_path / name).write_bytes(content)
    sources, findings = read_sources(tmp_path)
    assert findings == []
    assert {source.file for source in sources} == {"app.py", *odd}


def test_a_place_counts_characters_from_one() -> None:
    source = source_of("'é𝄞'; x = 1\n")
    assert source.finding(source.tree.body[1], "")[:3] == ("lib/x.py", 1, 7)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("import a.b\na.b.c", "a.b.c"),
        ("import a.b as d\nd.c", "a.b.c"),
        ("from a import b as d\nd.c", "a.b.c"),
        ("from . import y\ny", "lib.y"),
        ("from .y import z\nz", "lib.y.z"),
        ("from .. import y\ny", "y"),
        ("class A: ...\nA.b", "lib.x.A.b"),
        ("import a\nb = a.c\nb.d", "a.c.d"),
        ("import a\nb: object = a.c\nb", "a.c"),
        ("if 1:\n    import a\nelse:\n    import b as a\na", "b"),
        ("try:\n    import a\nexcept ImportError:\n    a = None\na", "a"),
        ("def f():\n    import a\n    a.b\na", "a"),
        ("x = 1\nx", "lib.x.x"),
        ("nothing", ""),
        ("print()", ""),
        ("import a\na().b", ""),
        ("import importlib\nimportlib.import_module('a.b').c", "a.b.c"),
        ("from importlib import import_module as load\nx = load('a')\nx.b", "a.b"),
        ("import importlib\nimportlib.import_module(a).c", ""),
        ("import importlib\nimportlib.import_module('.a', 'lib').c", ""),
        ("__import__('a.b').c", "a.c"),
        (f"import a\na{'.b' * 2000}", f"a{'.b' * 2000}"),
        ("import a\ndef f():\n    global a\n    a = a.b\n''", "a.b"),
        ("import a\ndef f():\n    a = 1\n    a.b\n''", ""),
        ("import a\n(lambda a: a.b)", ""),
        ("import a\n[a for a in ()]", ""),
    ],
)
def test_a_name_stands_for_what_python_would_find(text: str, meaning: str) -> None:
    source = source_of(text)
    last = source.tree.body[-1]
    assert isinstance(last, ast.Expr)
    expression = last.value
    if isinstance(expression, ast.Constant):
        # What matters stands in the function before it.
        expression = next(node for node in ast.walk(source.tree) if isinstance(node, ast.Attribute))
    if isinstance(expression, ast.Lambda):
        expression = expression.body
    elif isinstance(expression, ast.ListComp):
        expression = expression.elt
    assert source.dotted(expression) == meaning


def test_a_package_imports_relative_to_itself() -> None:
    source = source_of("from .y import z\n", "lib/__init__.py")
    assert (source.module, source.names["z"]) == ("lib", "lib.y.z")


@pytest.mark.parametrize("star", ["from lib import Root", "from lib import *"])
def test_a_name_is_followed_through_the_modules_that_hand_it_on(tmp_path: Path, star: str) -> None:
    handed = {"lib/__init__": "from .base import *", "lib/base": "from melee import Durable as Root"}
    sources = sources_of(tmp_path, app=f"{star}\nRoot", **handed)
    assert full_name(sources, "Root") == "melee.Durable"


@pytest.mark.parametrize(
    "app",
    ["from lib import a\na", "import lib\na = lib.a.b\na", "a = a.b\na", "a = b.c\nb = a.d\na"],
)
def test_names_that_go_in_a_circle_come_to_an_end(tmp_path: Path, app: str) -> None:
    assert full_name(sources_of(tmp_path, app=app, lib="from app import a\n"), "a")


def full_name(sources: list[Source], name: str) -> str:
    [app] = [source for source in sources if source.file == "app.py"]
    return Names(sources).full(app, ast.parse(name, mode="eval").body)
