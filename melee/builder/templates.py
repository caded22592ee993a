"""The templates of an app: which there are, and what does not compile in them."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

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
    paths, words = list(_templates(folder)), _words(sources)
    if not paths or words & _CHANGES_MARKS or not all(source.is_read for source in sources):
        return []
    # Jinja stays out of a server whose app has no templates.
    from melee.builder.jinja import environment, finding_in

    jinja, may_have_any_tag = environment(), bool(words & _ADDS_TAGS) or _has_extensions(sources)
    found = [finding_in(folder, path, jinja, may_have_any_tag) for path in paths]
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
