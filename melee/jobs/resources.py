"""`Resources`: what the code of a job can use."""

from typing import TYPE_CHECKING, Any, TypeVar, cast

from melee import log
from melee.errors import DefinitionError
from melee.store.database import Database

if TYPE_CHECKING:
    from melee.jobs.queue import Jobs

_Service = TypeVar("_Service")


class Resources:
    """What a job's `run` is given: everything that a request has.

    Attributes:
        app: the app, in whose context the job runs.
        log: writes lines that carry `job=NAME/id`.
    """

    def __init__(self, app: Any, logger: log.Logger) -> None:
        self.app, self.log = app, logger

    @property
    def db(self) -> Database:
        """The app's database, on a connection of this try's own."""
        return cast("Database", self.app.db)

    @property
    def jobs(self) -> "Jobs":
        """For jobs that follow this one."""
        return cast("Jobs", self.app.jobs)

    def require(self, kind: type[_Service]) -> _Service:
        """The service of this class that the app provides, see `App.provide`.

        Raises:
            DefinitionError: it provides none.
        """
        for service in self.app.services:
            if isinstance(service, kind):
                return service
        problem = f"the app provides no {kind.__qualname__}; write app.provide({kind.__name__}(…)) in app.py"
        raise DefinitionError(f"resources.require({kind.__name__})", problem)
