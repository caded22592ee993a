"""Durable classes are found across the modules of an app, each with its ancestors as Python orders them."""

from pathlib import Path

from melee.builder.classes import durable_classes
from tests.melee.builder.an_app import sources_of


def family(folder: Path, **files: str) -> dict[str, list[str]]:
    classes = durable_classes(sources_of(folder, **files))
    return {cls.name: [ancestor.name for ancestor in cls.ancestors] for cls in classes}


def test_a_class_is_durable_through_other_modules_of_the_app(tmp_path: Path) -> None:
    found = family(
        tmp_path,
        lib__a="import melee\nclass A(melee.Durable): ...\nclass Plain: ...",
        lib__b="from .a import A as Base, Plain\nclass B(Plain, Base): ...\nclass C(Plain): ...",
        lib__c="from lib import b\nif True:\n    class D(b.B): ...",
    )
    assert found == {"A": [], "B": ["A"], "D": ["B", "A"]}


def test_a_class_is_durable_after_an_import_of_everything(tmp_path: Path) -> None:
    text = "from json import *\nfrom melee import *\nfrom os import *\nclass A(Durable): ...\nclass B(App): ..."
    assert family(tmp_path, lib__x=text) == {"A": []}


def test_ancestors_stand_in_the_order_in_which_python_looks(tmp_path: Path) -> None:
    text = "from melee import Durable\nclass A(Durable): ...\nclass B(A): ...\nclass C(A): ...\nclass D(B, C): ..."
    assert family(tmp_path, lib__x=text)["D"] == ["B", "C", "A"]


def test_what_python_refuses_is_no_reason_to_stop(tmp_path: Path) -> None:
    text = """
        from melee import Durable
        from typing import Generic, TypeVar
        class A(Durable): ...
        class B(A, Durable, Missing[int], metaclass=type): ...
        class C(A, B): ...
        class E(Missing, Durable): ...
        class Loop(Loop): ...
        class One(Two): ...
        class Two(One, Durable): ...
        """
    found = family(tmp_path, lib__x=text)
    assert found["B"] == ["A"]
    assert found["C"] == ["A"]
    assert found["E"] == []
    assert "Loop" not in found


def test_a_class_inside_a_function_is_none_that_an_app_has(tmp_path: Path) -> None:
    text = "from melee import Durable\ndef f():\n    class A(Durable): ...\nclass B:\n    class C(Durable): ..."
    assert family(tmp_path, lib__x=text) == {}
