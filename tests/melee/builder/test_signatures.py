"""What a class offers is the same read from its syntax tree and from the class; what it could not offer is found where
it stands."""

import ast
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from melee.builder import guide
from melee.builder.classes import durable_classes
from melee.builder.signatures import Signatures
from melee.builder.source import Finding, Source
from melee.errors import DefinitionError
from melee.objects.durable import DurableClass
from melee.objects.spec import ClassSpec
from tests.melee.builder.an_app import place_of, places, sources_of

REPOSITORY = Path(__file__).parents[3]
MODULES = [
    "melee_examples/board/lib/stats.py",
    "tests/melee/objects/counter.py",
    "tests/melee/objects/test_spec.py",
    *(str(file.relative_to(REPOSITORY)) for file in sorted(REPOSITORY.glob("snippets/**/*.py"))),
]
TYPING = """from typing import Annotated, Any, List, Literal, Mapping, NewType, Optional, Protocol
from typing import TypedDict, TypeVar, Union
"""
HEAD = f"import collections.abc\n{TYPING}from melee import Durable\n"


@pytest.fixture(autouse=True)
def _modules_as_before() -> Iterator[None]:
    modules = dict(sys.modules)
    yield
    sys.modules.clear()
    sys.modules.update(modules)


def from_tree(source: Source) -> list[ClassSpec]:
    classes = durable_classes([source])
    signatures = Signatures([source], classes)
    assert signatures.findings() == []
    return [signatures.spec(cls) for cls in classes]


def from_import(module: Any) -> list[ClassSpec]:
    """The classes that a module defines at its top, in their order."""
    return [
        value.spec
        for value in vars(module).values()
        if isinstance(value, DurableClass) and value.__module__ == module.__name__
    ]


def imported(file: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def both(folder: Path, text: str) -> tuple[list[ClassSpec], list[ClassSpec]]:
    (folder / "stats.py").write_text(text, encoding="utf-8")
    return from_tree(Source("stats.py", text, ast.parse(text))), from_import(imported(folder / "stats.py", "stats"))


@pytest.mark.parametrize("file", MODULES)
def test_the_classes_of_this_repository_are_read_the_same_on_both_roads(file: str) -> None:
    text = (REPOSITORY / file).read_text(encoding="utf-8")
    source = Source(file, text, ast.parse(text))
    assert from_tree(source) == from_import(imported(REPOSITORY / file, source.module))


def test_the_modules_of_this_repository_have_classes() -> None:
    texts = [(REPOSITORY / file).read_text(encoding="utf-8") for file in MODULES]
    assert sum(len(durable_classes([Source("x.py", text, ast.parse(text))])) for text in texts) > 10


CLASSES = {
    "constants as defaults": """
        Row = dict[str, Any]
        LIMIT = 60 * 24
        RATE: float = -0.5
        class S(Durable):
            DAYS = 30
            def __init__(self, cache=None): ...
            def setup(self): ...
            def rows(self, day: str, /, days: int = DAYS, limit: int = LIMIT, rate=RATE) -> list[Row]: ...
            def more(self, a={'x': [1, None, True, 2.5, 'é']}, b='''x
                y'''): ...
        """,
    "a class of a class": """
        class Base(Durable):
            def rows(self): ...
            def days(self): ...
        class Derived(Base):
            def more(self): ...
            def rows(self, day) -> int: ...
            def setup(self): ...
        """,
    "two ancestors that share one": """
        class A(Durable):
            def a(self): ...
        class B(A):
            def b(self): ...
        class C(A):
            def a(self, c): ...
        class D(B, C):
            def d(self): ...
        """,
    "an ancestor that is no durable object": """
        class M:
            def no(self, *a): ...
        class S(M, Durable):
            def f(self): ...
        """,
    "texts for annotations": """
        from __future__ import annotations
        from melee import Durable
        class S(Durable):
            def f(self, a: Missing|None, b: 'int'=1) -> list[ Any ]: ...
        """,
    "a docstring": """
        class S(Durable):
            def f(self):
                '''First.

                  Second.
                '''
        """,
    "one name twice": """
        class S(Durable):
            def f(self): ...
            def g(self): ...
            def f(self, a): ...
            h = g
            f = f
            x = y = 5
        """,
    "what is no method": """
        import functools
        class S(Durable):
            id: str
            size: int
            @property
            def size(self): ...
            @size.setter
            def size(self, x): ...
            @staticmethod
            def s(*a): ...
            @classmethod
            def c(cls, **k): ...
            @functools.lru_cache(1)
            def l(self, *a): ...
            @functools.cached_property
            def p(self): ...
            def _q(self, *a, **k): ...
            async def _r(self): ...
            class Inner:
                def i(self, *a): ...
            if True:
                def g(self): ...
        """,
    "a generator inside": """
        class S(Durable):
            def f(self):
                def inner(): yield 1
                return list(inner())
        """,
}


@pytest.mark.parametrize("text", CLASSES.values(), ids=list(CLASSES))
def test_a_class_is_read_the_same_on_both_roads(tmp_path: Path, text: str) -> None:
    text = dedent(text).lstrip()
    tree, module = both(tmp_path, text if "Durable\n" in text else HEAD + text)
    assert tree == module
    assert any(spec.methods for spec in tree)


ANNOTATIONS = st.recursive(
    st.sampled_from(
        ["str", "int", "float", "bool", "None", "Any", "Row", "Named", "Literal['a', 1, -1, None]", "'Later'"]
    ),
    lambda inner: st.one_of(
        inner.map("list[{}]".format),
        inner.map("List[{}]".format),
        inner.map("dict[str, {}]".format),
        inner.map("Optional[{}]".format),
        inner.map("collections.abc.Sequence[{}]".format),
        inner.map("Annotated[{}, 'note']".format),
        st.tuples(inner, inner).map(lambda pair: f"Union[{pair[0]}, {pair[1]}]"),
        inner.filter(lambda text: not text.startswith("'")).map("{} | None".format),
    ),
    max_leaves=5,
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.lists(st.tuples(ANNOTATIONS, st.none() | JSON.map(repr)), max_size=4), ANNOTATIONS, st.booleans())
def test_whatever_may_cross_is_read_the_same_on_both_roads(
    tmp_path_factory: pytest.TempPathFactory, parameters: list[tuple[str, str | None]], result: str, is_future: bool
) -> None:
    # A parameter without a default may not follow one that has it.
    ordered = sorted(parameters, key=lambda parameter: parameter[1] is not None)
    declared = [
        f", p{place}: {annotation}" + ("" if default is None else f" = {default}")
        for place, (annotation, default) in enumerate(ordered)
    ]
    method = f"class S(Durable):\n    def f(self{''.join(declared)}) -> {result}: ..."
    future = "from __future__ import annotations\n" if is_future else ""
    text = f"{future}{HEAD}Row = dict[str, Any]\nclass Named(TypedDict):\n    name: str\n{method}"
    try:
        tree, module = both(tmp_path_factory.mktemp("app"), text)
    except TypeError:
        # `None | None`, say, is none that Python takes.
        return
    assert tree == module


def found_in(folder: Path, **files: str) -> list[Finding]:
    sources = sources_of(folder, **files)
    return Signatures(sources, durable_classes(sources)).findings()


@pytest.mark.parametrize(
    ("method", "mark"),
    [
        ("async def f(self): ...", "async def"),
        ("def f(self):\n        yield 1", "def f"),
        ("def f(self):\n        return [(yield 1)]", "def f"),
        ("async def f(self):\n        yield 1", "async def"),
        ("async def on_timer(self): ...", "async def"),
        ("def f(self, é, *, day): ...", "day"),
        ("def f(self, *, day='x'): ...", "day"),
        ("def f(self, *days): ...", "days"),
        ("def f(self, **days): ...", "days"),
        ("def f(self, day=(1,)): ...", "day"),
        ("def f(self, day={1, 2}): ...", "day"),
        ("def f(self, day=b'x'): ...", "day"),
        ("def f(self, day={1: 'x'}): ...", "day"),
        ("def f(self, day=9223372036854775807 + 1): ...", "day"),
        ("def setup(self, day): ...", "day"),
        ("def on_timer(self, *days): ...", "days"),
        ("def __init__(self, a=1, b=2, *, day): ...", "day"),
        ("def log(self): ...", "def log"),
        ("id = 5", "id"),
        ("storage: int = 5", "storage"),
        ("class timer: ...", "class timer"),
    ],
)
def test_what_the_class_itself_refuses_is_found_where_it_stands(tmp_path: Path, method: str, mark: str) -> None:
    text = f"from melee import Durable\n\nclass S(Durable):\n    {method}\n"
    found = found_in(tmp_path, lib__x=text)
    assert places(found) == [place_of(tmp_path, mark, "lib/x.py")]
    with pytest.raises(DefinitionError) as caught:
        imported(tmp_path / "lib" / "x.py", "refused")
    # In the words of the error that the import raises.
    assert caught.value.problem in found[0].problem


@pytest.mark.parametrize(
    ("annotation", "mark", "instead"),
    [
        ("datetime.datetime", "datetime.datetime", "datetime is not JSON-shaped; pass an ISO string or a number"),
        ("list[datetime.date]", "datetime.date", "date is not JSON-shaped; pass an ISO string"),
        ("dict[str, 'Decimal | None']", "'Decimal | None'", "Decimal is not JSON-shaped; pass str(value)"),
        ("Optional[bytes]", "bytes", "pass text, or base64 of it"),
        ("int | set[str]", "set", "set is not JSON-shaped; pass a list"),
        ("tuple[int, ...]", "tuple", "pass a list"),
        ("Tuple[int, int]", "Tuple", "pass a list"),
        ("Path", "Path", "pass str(value)"),
        ("uuid.UUID | None", "uuid.UUID", "pass str(value)"),
        ("dict[int, str]", "int", "a key of type int is not JSON-shaped; keys are str"),
        ("Callable[[], None]", "Callable", "pass a text that says what to do"),
        ("list[Note]", "Note", "Note is not JSON-shaped; pass what is in it as a dict"),
        ("lib.other.Shelf", "lib.other.Shelf", "pass what is in it as a dict"),
        ("'Color'", "'Color'", "pass its value"),
        ("Counter", "Counter", "Counter is not JSON-shaped; pass its id"),
        ("When", "When", "datetime is not JSON-shaped"),
        ("Annotated[bytes, 'x']", "bytes", "base64"),
        ("typing_extensions.Annotated[bytes, 'x']", "bytes", "base64"),
    ],
)
def test_an_annotation_that_cannot_cross_is_found_and_told_what_to_pass(
    tmp_path: Path, annotation: str, mark: str, instead: str
) -> None:
    text = f"""
from __future__ import annotations
import datetime as _, uuid, enum, lib.other, typing_extensions
import datetime
from dataclasses import dataclass
from decimal import Decimal as Decimal
from pathlib import Path as Path
from typing import Annotated, Callable, Optional, Tuple
from melee import Durable
{{}}
class S(Durable):
    def f(self, a: {annotation}): ...
    def g(self) -> {annotation}: ...
"""
    given_names = "When = datetime.datetime\n@dataclass\nclass Note: ...\nclass Color(enum.Enum): ...\n"
    given_names += "class Counter(Durable): ..."
    found = found_in(tmp_path, lib__other="class Shelf: ...", lib__x=text.format(given_names).lstrip())
    lines = (tmp_path / "lib" / "x.py").read_text().splitlines()
    assert [lines[finding.line - 1][finding.column - 1 :].startswith(mark) for finding in found] == [True, True]
    assert [finding.problem.split(": ")[0] for finding in found] == ["S.f", "S.g"]
    assert all(instead in finding.problem and f"(see {guide.JSON_SHAPE})" in finding.problem for finding in found)


@pytest.mark.parametrize(
    "annotation",
    [
        "Any",
        "object",
        "list",
        "dict",
        "Optional[int]",
        "dict[str, list[int | None]]",
        "Literal['bytes', 'datetime']",
        "Row",
        "Named",
        "Late",
        "Sized",
        "flask.Request",
        "Unknown",
        "'not (an annotation'",
        "Loop",
        "UserId",
        "T",
        "Mapping[str, Any]",
        "pydantic.BaseModel[bytes]",
    ],
)
def test_what_may_cross_and_what_is_unknown_is_left_alone(tmp_path: Path, annotation: str) -> None:
    text = f"""
import flask, pydantic
{TYPING}
from melee import Durable
from elsewhere import Unknown
Row = dict[str, Any]
Loop = list["Loop"]
UserId = NewType("UserId", int)
T = TypeVar("T")
class Named(TypedDict): ...
class Late(Named): ...
class Sized(Protocol[T]): ...
class S(Durable):
    def f(self, a: {annotation}) -> {annotation}: ...
    def setup(self) -> None: ...
    def _private(self, when: bytes) -> set: ...
"""
    assert found_in(tmp_path, lib__x=text) == []


def test_two_classes_that_would_share_their_data_are_found(tmp_path: Path) -> None:
    one = "from melee import Durable\nclass Stats(Durable): ...\n"
    found = found_in(tmp_path, lib__a=one, lib__b=one.replace("Stats", "stats"))
    assert places(found) == [("lib/b.py", 2, 1)]
    assert "lib.a.Stats would share its data" in found[0].problem


def test_a_class_is_known_through_the_modules_that_hand_it_on(tmp_path: Path) -> None:
    files = {
        "lib__base": "import melee as m\nclass Base(m.Durable):\n    def f(self, *a): ...",
        "lib/__init__": "from .base import Base as Root",
        "app": "import lib\nclass Stats(lib.Root):\n    def g(self, *b): ...",
    }
    assert places(found_in(tmp_path, **files)) == [("app.py", 3, 18), ("lib/base.py", 3, 18)]


def test_a_default_that_only_a_run_could_know_is_left_open() -> None:
    text = """import os
A = B
B = A
class S(Durable):
    def f(self, a=os.getpid(), b=1): ...
    def g(self, a=A): ...
"""
    source = Source("x.py", HEAD + text, ast.parse(HEAD + text))
    [spec] = from_tree(source)
    defaults = [[parameter.default for parameter in method.parameters] for method in spec.methods]
    assert defaults == [["...", "1"], ["..."]]
