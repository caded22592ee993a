"""One template: compiled as Flask would, and not rendered."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, TemplateSyntaxError, nodes

from melee.builder import guide
from melee.builder.source import Finding

_ESCAPED_BY_FLASK = (".html", ".htm", ".xml", ".xhtml", ".svg")


def environment() -> Environment:
    """Jinja as Flask sets it up, as far as compiling depends on it."""
    return Environment(autoescape=_is_escaped)


def finding_in(folder: Path, path: Path, environment: Environment, may_have_any_tag: bool) -> Finding | None:
    """What keeps a file below the app's folder from being a template, if anything does."""
    file = path.relative_to(folder).as_posix()
    try:
        content = path.read_bytes()
    except OSError as error:
        problem = f"it cannot be read: {error.strerror}; make it readable, or remove it"
        return Finding(file, 1, 1, f"{problem} (see {guide.TEMPLATES})")
    try:
        _compile(environment, content.decode(), file)
    except UnicodeDecodeError as error:
        # An image, say, is no template. What Flask escapes is one.
        if not _is_escaped(file):
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


def _is_escaped(name: str | None) -> bool:
    return name is None or name.endswith(_ESCAPED_BY_FLASK)


def _compile(environment: Environment, text: str, file: str) -> None:
    template = environment.parse(text, file)
    for node in template.find_all((nodes.Filter, nodes.Test)):
        known = environment.filters if isinstance(node, nodes.Filter) else environment.tests
        known.setdefault(node.name, _of_the_app)
    # The parser does not see, say, two blocks of one name.
    environment.compile(template, name=file, filename=file, raw=True)


def _of_the_app(*_arguments: Any) -> None:
    """Stands for a filter or a test that the app may add."""
