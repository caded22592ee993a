"""Templates, in a project whose tests really render them with Flask."""

import pytest

from melee_docs.blocks import Block
from tests.melee_docs.a_project import AProject, in_page

FOLDER = "melee_examples/board/templates"
BASE = """
<html>
<title>{% block title %}Board{% endblock %}</title>
{% block body %}{% endblock %}
{% block footer %}
{% endblock %}
</html>
"""
FILLED = """
{% extends "filled_base.html" %}
{% block title %}Filled{% endblock %}
{% block body %}Body{% endblock %}
{% block footer %}Footer{% endblock %}
"""
INDEX = """
{% extends "base.html" %}
{% block body %}
{% macro link(to, text="here") %}
<a href="{{ to }}">{{ text }}</a>
{% endmacro %}
{% if error %}
<p>Something is wrong.</p>
{% endif %}
<ul>
{% for name in names %}
  <li>{{ name }}</li>
{% endfor %}
</ul>
{{ link("/") }}
{% include "footer.html" %}
{% endblock %}
"""
ARMS = """
{% if error %}
<p>Something is wrong.</p>
{% else %}
<p>All is well.</p>
{% endif %}
"""
# One of each thing that a template can do, and every arm of it, is rendered by two calls.
MACROS = """
{% macro a(x, y=1) %}{{ x }}{{ y }}{% endmacro %}
{% macro b(x) %}
{{ x }} {{ caller() }}
{% endmacro %}
"""
EVERYTHING = """
{% extends "base.html" %}
{% from "macros.html" import a, b %}
{% import "macros.html" as macros %}
{% set title = "x" %}
{% block body %}
{{ super() }}
{% set seen = namespace(count=0) %}
{% for item in items if item > 0 %}
  {{ loop.index }} {{ item }}
  {% set seen.count = seen.count + 1 %}
{% endfor %}
{% for name, inner in tree.items() recursive %}
  {{ name }} {{ loop(inner.items()) }}
{% endfor %}
{% with three = 3 %}
{{ three }}
{% endwith %}
{% filter upper %}
up {{ title }}
{% endfilter %}
{% call b(1) %}
inside
{% endcall %}
{{ a(1) }} {{ macros.a(1, 2) }}
{% set text %}
captured {{ q }}
{% endset %}
{% if q is string and q %}yes{% elif not q %}no {{ text }}{% endif %}
{# comment #}
{% raw %}{{ raw }}{% endraw %}
{{ q|default("x")|upper }}
{% endblock %}
"""
TESTS = """
import subprocess
import sys
from pathlib import Path

import flask
import pytest

TEMPLATES = Path(__file__).parents[1] / "melee_examples" / "board" / "templates"


@pytest.fixture
def app():
    app = flask.Flask("board", template_folder=str(TEMPLATES))
    with app.app_context():
        yield app


def test_names(app):
    assert "<li>a</li>" in flask.render_template("index.html", names=["a"])


def test_filled(app):
    assert "Filled" in flask.render_template("filled.html")


def test_arm_with_error(app):
    assert "wrong" in flask.render_template("arms.html", error=True)


def test_arm_without_error(app):
    assert "well" in flask.render_template("arms.html", error=False)


def test_everything(app):
    for q in ("yes", ""):
        flask.render_template("everything.html", items=[0, 1], tree={"a": {"b": {}}}, q=q)


def test_spawned():
    render = "import flask, sys; app = flask.Flask('board', template_folder=sys.argv[1]); app.app_context().push()"
    code = f"{render}; print(flask.render_template('spawned.html', text='a'))"
    assert subprocess.run([sys.executable, "-c", code, TEMPLATES], capture_output=True).stdout.strip() == b"<p>a</p>"


def test_broken(app):
    flask.render_template("only_broken.html")
    assert False
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> AProject:
    project = AProject(tmp_path_factory.mktemp("project"))
    templates = {"base": BASE, "index": INDEX, "arms": ARMS, "macros": MACROS, "everything": EVERYTHING}
    templates |= {"filled": FILLED, "filled_base": BASE}
    for name, text in {**templates, "footer": "<footer>melee</footer>\n"}.items():
        project.write(f"{FOLDER}/{name}.html", text)
    for name in ("never", "only_broken", "spawned"):
        project.write(f"{FOLDER}/{name}.html", "<p>{{ text }}</p>\n")
    project.write("tests/test_board.py", TESTS)
    assert "proof: 6 passing tests recorded" in project.record("tests").stdout
    return project


def shown(project: AProject, name: str, first: int = 1, last: int = 10_000) -> Block:
    return project.block_of(f"{FOLDER}/{name}.html", first, last, language="html+jinja")


def test_shown_lines_that_a_passing_test_rendered_are_proven_by_it(project: AProject) -> None:
    proof = project.prove(shown(project, "index", 9, 15))
    assert (proof.kind, proof.evidence) == ("rendered", ("tests/test_board.py::test_names",))


def test_a_template_rendered_in_another_process_is_proven_by_the_test_that_started_it(project: AProject) -> None:
    assert project.prove(shown(project, "spawned")).evidence == ("tests/test_board.py::test_spawned",)


@pytest.mark.parametrize("name", ["base", "footer"])
def test_what_a_rendered_template_extends_and_includes_is_proven_with_it(project: AProject, name: str) -> None:
    assert project.prove(shown(project, name)).evidence == ("tests/test_board.py::test_names",)


def test_both_arms_of_an_if_are_proven_by_a_test_each(project: AProject) -> None:
    tests = project.prove(shown(project, "arms")).evidence
    assert tests == ("tests/test_board.py::test_arm_with_error", "tests/test_board.py::test_arm_without_error")


@pytest.mark.parametrize("name", ["everything", "macros"])
def test_nothing_is_asked_of_a_template_that_was_rendered_in_full(project: AProject, name: str) -> None:
    proof = project.prove(shown(project, name))
    assert (proof.problem, proof.evidence) == ("", ("tests/test_board.py::test_everything",))


def test_an_arm_of_nothing_but_text_that_no_test_rendered_is_named(project: AProject) -> None:
    problem = project.prove(shown(project, "index")).problem
    assert problem.startswith(f"{FOLDER}/index.html line 6: what this tag decides was not all rendered")


def test_an_empty_block_made_to_be_filled_asks_for_nothing(project: AProject) -> None:
    assert project.prove(shown(project, "filled_base", 3, 7)).evidence == ("tests/test_board.py::test_filled",)


def test_the_text_of_a_block_that_is_filled_every_time_is_named(project: AProject) -> None:
    problem = project.prove(shown(project, "filled_base")).problem
    assert problem.startswith(f"{FOLDER}/filled_base.html line 2: what this tag decides was not all rendered")


def test_a_template_that_no_test_renders_is_not_proven(project: AProject) -> None:
    problem = project.prove(shown(project, "never")).problem
    assert problem == f"{FOLDER}/never.html was rendered by no passing test; write a test that renders it"


def test_a_template_rendered_only_by_a_failing_test_is_not_proven(project: AProject) -> None:
    assert "was rendered by no passing test" in project.prove(shown(project, "only_broken")).problem


def test_a_template_written_in_the_page_is_refused(project: AProject) -> None:
    assert "show it from an app's templates folder" in project.prove(in_page("jinja", "{{ name }}\n")).problem


def test_a_template_changed_after_the_run_is_stale(project: AProject) -> None:
    project.write(f"{FOLDER}/footer.html", "<footer>another</footer>\n")
    assert "footer.html has changed since the tests ran" in project.prove(shown(project, "footer")).problem
