"""`melee jobs`: the durable jobs of an app, seen from outside, whether the app runs or not."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

from melee.cli.app_folder import app_option, project_of
from melee.cli.tables import print_table
from melee.clock import SystemClock
from melee.errors import BadInput, NoSuchJob
from melee.jobs.job import Job
from melee.jobs.opened import open_jobs
from melee.jobs.store import Stats, Store, StoredJob
from melee.project import Project
from melee.words import distance, moment, shortened, visible

_ID = click.IntRange(1, 2**63 - 1)
_NO_STATS = Stats(0, 0, 0)


@click.group(invoke_without_command=True)
@app_option
@click.pass_context
def jobs(context: click.Context) -> None:
    """List the durable jobs of an app.

    Of each kind it says how many are queued, running and failed. They are read from the database that the app uses:
    data/app.sqlite3, or the one that DATABASE_URL names.

    \b
    Examples:
      melee jobs
      melee jobs --app board
      melee jobs failed
      melee jobs retry --all
    """
    if context.invoked_subcommand is None:
        _list(project_of(context))


@jobs.command()
@click.argument("at_most", metavar="[N]", default=20, type=click.IntRange(1, 1_000_000))
@app_option
@click.pass_context
def failed(context: click.Context, at_most: int) -> None:
    """List the N jobs (default: 20) that failed last.

    \b
    Examples:
      melee jobs failed
      melee jobs failed 100
    """
    with _opened(project_of(context)) as store:
        found = store.failed(at_most)
    if not found:
        click.echo("no job has failed")
        return
    print_table(
        ("id", "job", "attempts", "last error", "payload"),
        [(str(job.id), job.name, str(job.attempts), _first_line(job), shortened(job.payload)) for job in found],
    )


@jobs.command()
@click.argument("id", type=_ID, metavar="ID")
@app_option
@click.pass_context
def show(context: click.Context, id: int) -> None:
    """Show one job: its payload, its attempts, its last error.

    \b
    Example:
      melee jobs show 42
    """
    project = project_of(context)
    with _opened(project) as store:
        job, now = _found(store, id), store.now()
    zone = project.config.zone
    facts = {
        "job": f"{job.name}/{job.id}",
        "status": job.status,
        "queue": job.queue,
        "priority": str(job.priority),
        "attempts": f"{job.attempts} of {job.max_attempts}",
        "enqueued": moment(job.enqueued_at, zone),
        "due": f"{moment(job.due_at, zone)} ({distance(job.due_at - now)})",
        "worker": job.worker or "-",
        "unique key": job.unique_key or "-",
        "payload": job.payload,
    }
    for name, fact in facts.items():
        click.echo(f"{name + ':':12}{visible(fact)}")
    for number, line in enumerate((job.last_error or "-").splitlines()):
        click.echo(f"{'' if number else 'last error:':12}{visible(line)}".rstrip())


@jobs.command()
@click.argument("id", type=_ID, metavar="[ID]", required=False)
@click.option("--all", "every", is_flag=True, help="Every job that has failed.")
@app_option
@click.pass_context
def retry(context: click.Context, id: int | None, every: bool) -> None:
    """Queue a failed job again, with all its attempts.

    One whose unique key a newer job holds is left as it is.

    \b
    Examples:
      melee jobs retry 42
      melee jobs retry --all
    """
    _check_one_of(id, every, "--all")
    with _opened(project_of(context)) as store:
        if id is None:
            retried = store.retry_failed()
            left = f"; {retried.left} left, whose unique key a newer job holds" if retried.left else ""
            click.echo(f"{_jobs(retried.queued)} queued again{left}")
            return
        job = _found(store, id)
        if job.status != "failed":
            raise BadInput(f"job {id} is {job.status}; only one that has failed can be tried again")
        if not store.retry(id):
            raise BadInput(f"job {id} is left as it is, since another one holds its unique key {job.unique_key!r}")
        click.echo(visible(f"{job.name}/{id} is queued again"))


@jobs.command()
@click.argument("id", type=_ID, metavar="[ID]", required=False)
@click.option("--failed", "every", is_flag=True, help="Every job that has failed.")
@click.option("--yes", is_flag=True, help="Do not ask, however many there are.")
@app_option
@click.pass_context
def discard(context: click.Context, id: int | None, every: bool, yes: bool) -> None:
    """Delete a job, whatever its status; one that runs is ended within seconds.

    \b
    Examples:
      melee jobs discard 42
      melee jobs discard --failed
    """
    _check_one_of(id, every, "--failed")
    with _opened(project_of(context)) as store:
        if id is not None:
            job = _found(store, id)
            store.discard(id)
            click.echo(visible(f"{job.name}/{id} is discarded"))
            return
        found = store.failed(sum(stats.failed for stats in store.per_name().values()))
        if len(found) > 1 and not yes:
            click.confirm(f"Delete {_jobs(len(found))} for good?", abort=True)
        click.echo(f"{_jobs(sum(store.discard(job.id) for job in found))} discarded")


def _list(project: Project) -> None:
    stored = _stored(project)
    try:
        classes = _classes(project)
    except BadInput:
        # What is stored is shown whatever has become of the code; that nobody knows then which jobs it can run, too.
        _print(stored, {}, "?")
        raise
    if stored or classes:
        _print(stored, classes, "nothing: no class of this name is registered")
    else:
        click.echo(f"{visible(project.folder.name)} has no durable jobs.")


def _stored(project: Project) -> Mapping[str, Stats]:
    """How many jobs of each kind are stored; of an app that never ran, no database is made to look."""
    if not project.database_url and not project.database.exists():
        return {}
    with _opened(project) as store:
        return store.per_name()


def _print(stored: Mapping[str, Stats], classes: Mapping[str, type[Job]], unknown: str) -> None:
    rows = []
    for name in sorted({*stored, *classes}):
        stats, cls = stored.get(name, _NO_STATS), classes.get(name)
        runs_it = f"{cls.__module__}.{cls.__qualname__}" if cls else unknown
        rows.append((name, f"{stats.queued:,}", f"{stats.running:,}", f"{stats.failed:,}", runs_it))
    print_table(("job", "queued", "running", "failed", "what runs it"), rows)


def _classes(project: Project) -> Mapping[str, type[Job]]:
    """The classes that the app has registered; none for one that is not made of `App`."""
    app = project.load().app
    classes: Mapping[str, type[Job]] = app.jobs.classes if hasattr(app, "jobs") else {}
    return classes


@contextmanager
def _opened(project: Project) -> Iterator[Store]:
    opened = open_jobs(project, SystemClock())
    try:
        yield opened.store
    finally:
        opened.close()


def _found(store: Store, id: int) -> StoredJob:
    if job := store.get(id):
        return job
    raise NoSuchJob(id)


def _check_one_of(id: int | None, every: bool, option: str) -> None:
    if (id is None) != every:
        raise click.UsageError(f"Name one job by its ID, or all of them by {option}.")


def _first_line(job: StoredJob) -> str:
    return shortened((job.last_error or "-").partition("\n")[0])


def _jobs(number: int) -> str:
    return f"{number:,} job{'' if number == 1 else 's'}"
