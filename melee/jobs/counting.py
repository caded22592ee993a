"""Counts the jobs that a process stores, once they are kept."""

from collections.abc import Sequence
from functools import partial

from melee.jobs.counts import send_enqueued
from melee.jobs.store import Stored
from melee.project import Project
from melee.store.notifying import NotifyingDatabase


def counting(database: NotifyingDatabase, project: Project) -> Stored:
    """What a store on this database calls with the names of the jobs that it has stored."""

    def count(names: Sequence[str]) -> None:
        if names:
            database.after_commit(partial(send_enqueued, project.counts, names))

    return count
