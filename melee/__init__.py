"""melee: small Python web apps in which a request is one short process, and what outlives it is a durable object."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from melee.clock import now
    from melee.jobs.job import Job
    from melee.jobs.resources import Resources
    from melee.objects.durable import Durable
    from melee.web.app import App

__all__ = ["App", "Durable", "Job", "Resources", "now"]

_HOMES = {
    "App": "melee.web.app",
    "Durable": "melee.objects.durable",
    "Job": "melee.jobs.job",
    "Resources": "melee.jobs.resources",
    "now": "melee.clock",
}


# Every process of melee imports this package, and few of them serve Flask: a name is brought in by the first to ask.
def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
