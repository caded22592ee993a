"""A finding is one line with its place, and the names in a module mean what they mean to Python."""

import ast
from pathlib import Path

import pytest

from melee.builder.names import Names
from melee.builder.source import Finding, Source
from tests.melee.builder.an_app import sources_of


def source_of(text: str, file: str = "lib/x.py") -> Source:
    return Source(file, text, ast.parse(text))


def test_a_finding_is_one_line_and_findings_sort_by_place() -> None:
    findings = [Finding("b.py", 1, 1, "x"), Finding("a.py", 10, 1, "x"), Finding("a.py", 9, 2, "x")]
    assert [str(finding) for finding in sorted(findings)] == ["a.py:9:2: x", "a.py:10:1: x", "b.py:1:1: x"]


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
