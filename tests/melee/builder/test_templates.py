"""Templates are compiled before an app runs: what Jinja would refuse is named at its line, and nothing else is."""

from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask

from melee.builder.jinja import environment
from melee.builder.reading import read_sources
from melee.builder.source import Finding
from melee.builder.templates import findings
from tests.melee.builder.an_app import sources_with_one_unread

REPOSITORY = Path(__file__).parents[3]
CORRECT = "correct the template (see reference/commands#melee-build)"

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, text: str) -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    written("app.py", "from melee import App\n\napp = App(__name__)\n")
    return written


def found(folder: Path) -> list[Finding]:
    sources, unreadable = read_sources(folder)
    assert unreadable == []
    return findings(folder, sources)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("<p>\n{{ note }</p>\n", 2, "unexpected '}'"),
        ("{% for a in b %}\n{{ a }}\n", 2, "Unexpected end of template. Jinja was looking for the following tags: "),
        ("\n\n{% endblok %}\n", 3, "Encountered unknown tag 'endblok'"),
        ("{% block a %}{% endblock %}\n{% block a %}{% endblock %}", 2, "block 'a' defined twice"),
        ("{% do a.append(1) %}", 1, "Encountered unknown tag 'do'"),
    ],
)
def test_a_template_that_does_not_compile_is_named_at_its_line(
    tmp_path: Path, write: Write, text: str, line: int, problem: str
) -> None:
    write("templates/notes/index.html", text)
    [finding] = found(tmp_path)
    assert finding[:3] == ("templates/notes/index.html", line, 1)
    assert finding.problem.startswith(problem)
    assert finding.problem.endswith(f"; {CORRECT}")
    assert ".;" not in finding.problem


@pytest.mark.parametrize("name", ["mail.txt", "rows.js", "plain"])
def test_every_text_is_a_template_whatever_its_name(tmp_path: Path, write: Write, name: str) -> None:
    write(f"templates/{name}", "{{")
    assert [finding.file for finding in found(tmp_path)] == [f"templates/{name}"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{{ a|of_the_app }}{% if a is of_the_app(1) %}{% filter of_the_app %}{% endfilter %}{% endif %}",
        '{{ "a"|of_the_app }}{{ 1 is of_the_app }}{{ a|tojson|safe }}',
        '{% extends "nowhere.html" %}{% from "x" import y %}{{ url_for("nowhere") }}',
    ],
)
def test_what_only_a_running_app_knows_is_left_alone(tmp_path: Path, write: Write, text: str) -> None:
    write("templates/index.html", text)
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    "line",
    [
        'app.jinja_env.add_extension("jinja2.ext.do")',
        'app.jinja_options["extensions"] = ["jinja2.ext.do"]',
        'class Mine(App):\n    jinja_options = {"extensions": ["jinja2.ext.do"]}',
        "class Mine(App):\n    def create_jinja_environment(self): pass",
    ],
)
def test_an_app_that_adds_extensions_may_use_any_tag_and_no_broken_one(tmp_path: Path, write: Write, line: str) -> None:
    write("app.py", f"from melee import App\n\napp = App(__name__)\n{line}\n")
    write("templates/a.html", "{% do a.append(1) %}")
    write("templates/b.html", "{{ a")
    assert [finding.file for finding in found(tmp_path)] == ["templates/b.html"]


@pytest.mark.parametrize(
    "line",
    [
        'app.jinja_env.variable_start_string = "[["',
        'app.jinja_options = {"block_start_string": "<%"}',
        'app.jinja_options = dict(block_start_string="<%")',
    ],
)
def test_an_app_that_changes_the_marks_of_jinja_is_left_alone(tmp_path: Path, write: Write, line: str) -> None:
    write("app.py", f"from melee import App\n\napp = App(__name__)\n{line}\n")
    write("templates/index.html", "{{ a ? b : c }}")
    assert found(tmp_path) == []


@pytest.mark.parametrize("line", ["from flask_babel import Babel", "def f():\n    import flask_caching.backends"])
def test_an_app_with_an_extension_of_flask_may_use_any_tag_and_no_broken_one(
    tmp_path: Path, write: Write, line: str
) -> None:
    write("app.py", f"from melee import App\n{line}\n\napp = App(__name__)\n")
    write("templates/a.html", "{% block a %}{% trans %}Hello{% endtrans %}{% endblock %}")
    write("templates/b.html", "{{ a")
    assert [finding.file for finding in found(tmp_path)] == ["templates/b.html"]


def test_a_module_that_cannot_be_read_may_bring_any_tag_or_mark(tmp_path: Path, write: Write) -> None:
    write("templates/a.html", "{% do a.append(1) %}{{ a ? b : c }}")
    assert findings(tmp_path, sources_with_one_unread(tmp_path)) == []


@pytest.mark.parametrize(
    ("text", "problem"), [("{{ " + "9" * 5000 + " }}", "Exceeds the limit"), ("{{ " + "-" * 5000 + "1 }}", "recursion")]
)
def test_a_template_that_is_too_much_for_jinja_is_named(tmp_path: Path, write: Write, text: str, problem: str) -> None:
    write("templates/index.html", text)
    [finding] = found(tmp_path)
    assert finding[:3] == ("templates/index.html", 1, 1)
    assert problem in finding.problem
    assert "write it in a simpler way" in finding.problem


def test_a_template_that_may_not_be_read_is_named(tmp_path: Path, write: Write) -> None:
    write("templates/index.html", "")
    # It is there, and every read of its beginning is refused, even to root.
    (tmp_path / "templates" / "memory.html").symlink_to("/proc/self/mem")
    advice = "make it readable, or remove it (see reference/commands#melee-build)"
    problem = f"it cannot be read: Input/output error; {advice}"
    assert found(tmp_path) == [Finding("templates/memory.html", 1, 1, problem)]


def test_a_page_that_is_not_utf_8_is_named_and_an_image_is_not(tmp_path: Path, write: Write) -> None:
    write("templates/logo.png", "").write_bytes(b"\x89PNG\r\n\x1a\n\xff{{")
    write("templates/index.html", "").write_bytes("<p>\n  é</p>".encode("latin-1"))
    problem = "it is not UTF-8 (invalid continuation byte); save it as UTF-8 (see reference/commands#melee-build)"
    assert found(tmp_path) == [Finding("templates/index.html", 2, 3, problem)]


@pytest.mark.parametrize(
    "name", ["a.html", "a.htm", "a.xml", "a.xhtml", "a.svg", "a.txt", "a.j2", "A.HTML", "a.html.j2", "html"]
)
def test_jinja_escapes_what_it_escapes_in_flask(name: str) -> None:
    ours, flasks = (each.compile("{{ a }}", name=name, raw=True) for each in (environment(), Flask("app").jinja_env))
    assert ours == flasks


@pytest.mark.parametrize("name", [".index.html.swp", "index.html~", ".old/index.html"])
def test_what_an_editor_leaves_behind_is_no_template(tmp_path: Path, write: Write, name: str) -> None:
    write(f"templates/{name}", "{{")
    assert found(tmp_path) == []


def test_an_app_without_templates_has_no_mistakes_in_them(tmp_path: Path, write: Write) -> None:
    assert found(tmp_path) == []


def test_the_example_is_right() -> None:
    assert found(REPOSITORY / "melee_examples" / "board") == []
