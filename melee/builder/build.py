"""The build step: all that can be said about an app without running it, and the handles of its objects."""

import re

from melee.builder import jobs, loading, refusals, statements, templates
from melee.builder.classes import durable_classes, job_classes
from melee.builder.reading import read_sources
from melee.builder.signatures import Signatures
from melee.builder.source import Finding
from melee.errors import BadConfig
from melee.objects.hosting import write_handles
from melee.project import Project

_PLACE_IN_TOML = re.compile(r"\(at line (\d+), column (\d+)\)")


def build(project: Project) -> list[Finding]:
    """The mistakes in an app, by place. If there are none, `.melee/objects.py` says what its objects offer."""
    sources, unreadable = read_sources(project.folder)
    classes, jobs_of_app = durable_classes(sources), job_classes(sources)
    signatures = Signatures(sources, classes)
    found = {
        *unreadable,
        *_mistakes_in_config(project),
        *loading.findings(sources),
        *refusals.findings(sources, classes, jobs_of_app),
        *signatures.findings(),
        *jobs.findings(sources, jobs_of_app),
        *statements.findings(project, sources, classes, jobs_of_app),
        *templates.findings(project.folder, sources),
    }
    if not found:
        loaded = loading.loaded_with_app(sources)
        write_handles(project, [signatures.spec(cls) for cls in classes if cls.source.module in loaded])
    return sorted(found)


def _mistakes_in_config(project: Project) -> list[Finding]:
    try:
        _ = project.config
    except BadConfig as error:
        place = _PLACE_IN_TOML.search(error.problem)
        line, column = map(int, place.groups()) if place else (1, 1)
        return [Finding("melee.toml", line, column, error.problem)]
    return []
