"""The page of the console: what it looks at, and how that becomes HTML."""

from collections.abc import Callable
from typing import TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined

from melee import clock, log
from melee.console.jobs import JobsSeen, look_at_cron, look_at_jobs, opened_store
from melee.console.log_tail import LogTail
from melee.console.moments import Now
from melee.console.objects import ObjectsLook, ObjectsSeen
from melee.console.text import Text, text
from melee.objects.host import Host
from melee.objects.request import owner
from melee.web.app import App

_Seen = TypeVar("_Seen")

# Its own, so that nothing that an app does to Jinja is seen here.
_JINJA = Environment(
    loader=PackageLoader("melee.console"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


class Page:
    """Makes the page of one app.

    Args:
        app: an `App`, which has jobs, or whatever else is served.
    """

    def __init__(self, app: object) -> None:
        self._app = app if isinstance(app, App) else None
        self._objects, self._log = ObjectsLook(), LogTail()

    def html(self, said: str) -> str:
        """The page as it is now; `said` is what came of the last order, if there was one."""
        now = Now(clock.now())
        looks = _Looks()
        return _JINJA.get_template("page.html").render(
            name=text(self._app.project.folder.name if self._app else "an app"),
            said=said,
            now=now.moment(now.seconds),
            has_app=self._app is not None,
            jobs=looks.at("jobs", lambda: self._jobs(now)),
            cron=looks.at("cron", lambda: look_at_cron(self._app.jobs, now) if self._app else []),
            is_hosting=isinstance(owner(), Host),
            objects=looks.at("objects", lambda: self._objects_seen(now)),
            log_lines=looks.at("log", lambda: self._log.lines(now)),
            problems=looks.problems,
        )

    def _jobs(self, now: Now) -> JobsSeen | None:
        if self._app is None or not self._app.jobs.classes:
            return None
        with opened_store(self._app.project) as connection:
            return look_at_jobs(self._app.jobs, connection.jobs, now)

    def _objects_seen(self, now: Now) -> ObjectsSeen | None:
        host = owner()
        return self._objects.at(host, now) if isinstance(host, Host) else None


class _Looks:
    """Looks at one thing after the other; one that cannot be looked at keeps nobody from seeing the rest."""

    def __init__(self) -> None:
        self.problems: dict[str, Text] = {}

    def at(self, section: str, look: Callable[[], _Seen]) -> _Seen | None:
        try:
            return look()
        except Exception as error:  # noqa: BLE001 - a broken database, rows that somebody wrote by hand: shown
            self.problems[section] = text(f"{type(error).__name__}: {log.described(error)[0]}")
            return None
