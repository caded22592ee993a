"""What the buttons of the console do, and the sentence that says what came of it."""

from collections.abc import Callable

from melee.console.jobs import opened_store
from melee.errors import MeleeError
from melee.jobs.store import Store
from melee.project import Project
from melee.words import shortened, visible


def retry_all(store: Store) -> str:
    retried = store.retry_failed()
    if not retried.queued and not retried.left:
        return "No job has failed, so none is queued again."
    left = f", {retried.left:,} left: a newer job holds {_its(retried.left)} key" if retried.left else ""
    return f"{retried.queued:,} queued again{left}."


def retry(store: Store, id: int) -> str:
    if problem := _not_failed(store, id):
        return problem
    if store.retry(id):
        return f"Job {id} is queued again."
    return f"Job {id} was left as it is: a newer job holds its key."


def discard(store: Store, id: int) -> str:
    if problem := _not_failed(store, id):
        return problem
    store.discard(id)
    return f"Job {id} is deleted."


def carried_out(project: Project, order: Callable[[Store], str]) -> str:
    """What an order says, or why it was not carried out: all of it, or nothing."""
    try:
        with opened_store(project) as connection, connection.database.transaction():
            return order(connection.jobs)
    except (MeleeError, OSError) as error:
        return f"Nothing was done. {type(error).__name__}: {visible(shortened(str(error)))}"


def _not_failed(store: Store, id: int) -> str:
    """The page may be older than what somebody else has done."""
    job = store.get(id)
    if job is None:
        return f"There is no job {id} any more."
    return "" if job.status == "failed" else f"Job {id} was left as it is: it is {job.status} by now."


def _its(jobs: int) -> str:
    return "its" if jobs == 1 else "their"
