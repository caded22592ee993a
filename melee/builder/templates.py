"""The templates of an app: compiled as Flask would, and not rendered."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from flask import Flask
from jinja2 import Environment, TemplateSyntaxError, nodes

from melee.builder import guide
from melee.builder.source import Finding, Source

_ADDS_TAGS = {"add_extension", "jinja_options", "jinja_environment", "create_jinja_environment"}
_CHANGES_MARKS = {
    *(f"{mark}_{end}_string" for mark in ("block", "variable", "comment") for end in ("start", "end")),
    *("line_statement_prefix", "line_comment_prefix"),
}


def findings(folder: Path, sources: Sequence[Source]) -> list[Finding]:
    """What does not compile in `templates/`, by place. Filters and tests are not looked up, since an app may add some
    when it runs.

    An app that adds extensions to Jinja, or has some of Flask that may, may use any tag. If it changes the marks of
    Jinja, such as `{{`, none is checked. A module that could not be read may do either.
    """
    words = _words(sources)
    if words & _CHANGES_MARKS or not all(source.is_read for source in sources):
        return []
    app = Flask("app", root_path=str(folder))
    may_have_any_tag = bool(words & _ADDS_TAGS) or _has_extensions(sources)
    found = [_finding(app, folder, path, may_have_any_tag) for path in _templates(folder)]
    return [finding for finding in found if finding]


def _has_extensions(sources: Sequence[Source]) -> bool:
    """Whether the app imports an extension of Flask: Flask-Babel, say, brings the tag `trans`."""
    return any(name.startswith("flask_") for source in sources for _place, name in source.imports)


def _words(sources: Sequence[Source]) -> set[str]:
    """The names and the texts in the code."""
    words: set[str] = set()
    for source in sources:
        for node in source.nodes:
            match node:
                case (
                    ast.Attribute(attr=str(word))
                    | ast.Name(id=str(word))
                    | ast.keyword(arg=str(word))
                    | ast.FunctionDef(name=str(word))
                    | ast.Constant(value=str(word))
                ):
                    words.add(word)
    return words


def _templates(folder: Path) -> Iterator[Path]:
    templates = folder / "templates"
    for path in sorted(templates.rglob("*")):
        # Editors leave hidden files, and copies with a tilde.
        is_hidden = any(part.startswith(".") for part in path.relative_to(templates).parts)
        if path.is_file() and not is_hidden and not path.name.endswith("~"):
            yield path


def _finding(app: Flask, folder: Path, path: Path, may_have_any_tag: bool) -> Finding | None:
    file = path.relative_to(folder).as_posix()
    try:
        content = path.read_bytes()
    except OSError as error:
        problem = f"it cannot be read: {error.strerror}; make it readable, or remove it"
        return Finding(file, 1, 1, f"{problem} (see {guide.TEMPLATES})")
    try:
        _compile(app.jinja_env, content.decode(), file)
    except UnicodeDecodeError as error:
        # An image, say, is no template. What Flask escapes is one.
        if not app.select_jinja_autoescape(file):
            return None
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        problem = f"it is not UTF-8 ({error.reason}); save it as UTF-8 (see {guide.TEMPLATES})"
        return Finding(file, line, column, problem)
    except TemplateSyntaxError as error:
        message = (error.message or "").rstrip(".")
        if may_have_any_tag and message.startswith("Encountered unknown tag"):
            return None
        return Finding(file, error.lineno, 1, f"{message}; correct the template (see {guide.TEMPLATES})")
    except (ValueError, RecursionError) as error:
        problem = f"Jinja cannot read it: {error}; write it in a simpler way (see {guide.TEMPLATES})"
        return Finding(file, 1, 1, problem)
    return None


def _compile(environment: Environment, text: str, file: str) -> None:
    template = environment.parse(text, file)
    for node in template.find_all((nodes.Filter, nodes.Test)):
        known = environment.filters if isinstance(node, nodes.Filter) else environment.tests
        known.setdefault(node.name, _of_the_app)
    # The parser does not see, say, two blocks of one name.
    environment.compile(template, name=file, filename=file, raw=True)


def _of_the_app(*_arguments: Any) -> None:
    """Stands for a filter or a test that the app may add."""
