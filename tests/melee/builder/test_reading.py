"""The files of an app are read, and each that is not Python is said with its place."""

import os
from pathlib import Path

import pytest

from melee.builder.reading import read_sources
from melee.builder.source import Finding
from tests.melee.builder.an_app import write_app


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
