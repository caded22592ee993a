"""The SQL of an app: its migrations, applied to empty databases, and the statements in its code, prepared in those."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from melee.builder import guide
from melee.builder.calls import SqlCall, calls_in_jobs, calls_on_app, calls_on_storage
from melee.builder.classes import AppClass
from melee.builder.literals import Literals
from melee.builder.migrated import Migrated, Owner, advised
from melee.builder.names import Names
from melee.builder.schema_in_code import are_tables_hidden, creating, has_schema_elsewhere, make_tables
from melee.builder.source import Finding, Source
from melee.errors import DatabaseError
from melee.project import Project
from melee.store.migrations import statements

_MISSING = re.compile(r"no such (?:table|column|index)\b|.* has no column named ")
_OTHER_COLUMNS = re.compile(r".* has \d+ columns but ")


@dataclass(frozen=True)
class _Use:
    """A database of the app and what the code gives to it. `are_tables_known` is False when the code may make tables in
    a way that only running it would show: a name that is missing is no mistake then."""

    owner: Owner
    calls: list[SqlCall]
    are_tables_known: bool


def findings(
    project: Project, sources: Sequence[Source], classes: Sequence[AppClass], jobs: Sequence[AppClass]
) -> list[Finding]:
    """Migrations that would not run, folders of migrations that belong to nothing, and statements that SQLite would
    refuse, by place.

    A statement is checked when its text is a literal, or a name that a module or a class gives to one, once. Of the
    migrations of one database the first that fails is found; those after it build on it, and so do the statements. What
    a module that could not be read may have, a class or a table, is not missed.

    An app whose own database is in Postgres writes its migrations and statements for that; they are left out.
    """
    folder = project.folder
    is_known = all(source.is_read for source in sources)
    found = set(_migrations_of_nobody(folder, classes)) if is_known else set()
    for use in _uses(project, sources, classes, jobs):
        with closing(Migrated(folder, use.owner)) as database:
            found |= {database.finding} if database.finding else set(_mistakes(use, database))
    return sorted(found)


def _migrations_of_nobody(folder: Path, classes: Iterable[AppClass]) -> Iterator[Finding]:
    known = [Owner(cls.name).migrations for cls in classes]
    files = [*folder.glob("db/objects/*.sql"), *folder.glob("db/objects/*/*.sql")]
    for parent, file in {file.parent: file for file in sorted(files, reverse=True)}.items():
        place = parent.relative_to(folder).as_posix()
        if place not in known:
            problem = (
                f"no durable class has the folder {place}, so nothing runs this; "
                f"name the folder after its class ({', '.join(sorted(known)) or 'there is none yet'})"
            )
            yield Finding(file.relative_to(folder).as_posix(), 1, 1, f"{problem} (see {guide.MIGRATIONS})")


def _uses(
    project: Project, sources: Sequence[Source], classes: Sequence[AppClass], jobs: Sequence[AppClass]
) -> list[_Use]:
    names = Names(sources)
    literals = Literals(sources, names)
    of_classes = {cls: list(calls_on_storage(cls, literals)) for cls in classes}
    of_app = [*calls_on_app(sources, names, literals), *calls_in_jobs(jobs, literals)]
    all_calls = [*of_app, *(call for calls in of_classes.values() for call in calls)]
    is_known = all(source.is_read for source in sources) and not has_schema_elsewhere(sources, all_calls)
    owner = Owner(has_jobs=bool(jobs))
    own = [] if project.database_url else [_Use(owner, of_app, is_known and not are_tables_hidden(of_app))]
    return [
        *own,
        *(
            _Use(Owner(cls.name), calls, is_known and not are_tables_hidden(calls) and not _is_mixed(cls))
            for cls, calls in of_classes.items()
            if not _is_for_subclasses(project.folder, cls, calls, classes)
        ),
    ]


def _is_mixed(cls: AppClass) -> bool:
    """Whether a class also has methods of classes that are not durable themselves, which are not looked at."""
    return any(len(each.node.bases) != 1 for each in (cls, *cls.ancestors))


def _is_for_subclasses(folder: Path, cls: AppClass, calls: Sequence[SqlCall], classes: Sequence[AppClass]) -> bool:
    """Whether a class has no tables of its own: its methods use those of the classes that are derived from it."""
    makes_tables = (folder / Owner(cls.name).migrations).is_dir() or creating(calls)
    return not makes_tables and any(cls in other.ancestors for other in classes)


def _mistakes(use: _Use, database: Migrated) -> Iterator[Finding]:
    made = make_tables(database.connection, use.calls)
    for call in use.calls:
        if call.sql:
            parameters: list[str | None] = []
            for index, text in statements(call.sql.text):
                try:
                    parameters += [] if text in made else database.connection.prepare(text)
                except DatabaseError as error:
                    if use.are_tables_known or not _depends_on_tables(error):
                        yield call.sql.finding(index + error.position, _problem(error, database))
                    break
            else:
                yield from _wrong_values(call, parameters)


def _depends_on_tables(error: DatabaseError) -> bool:
    return any(words.match(error.problem) for words in (_MISSING, _OTHER_COLUMNS))


def _problem(error: DatabaseError, database: Migrated) -> str:
    if _MISSING.match(error.problem):
        return (
            f"{error.problem} in {database.owner.title}; correct the name, or make it in a migration, "
            f"{database.next_file} (see {guide.MIGRATIONS})"
        )
    return f"{advised(error, 'correct the statement')} (see {guide.STATEMENTS})"


def _wrong_values(call: SqlCall, parameters: Sequence[str | None]) -> Iterator[Finding]:
    if call.bracketed:
        kind = type(call.bracketed).__name__.lower()
        problem = f"a {kind} is no value; give each value as an argument of its own (see {guide.STATEMENTS})"
        yield call.source.finding(call.bracketed, problem)
        return
    given = call.values_given
    is_dict_perhaps = given == 1 and any(parameters)
    if given is not None and given != len(parameters) and not is_dict_perhaps:
        problem = (
            f"the statement has {_count(len(parameters), 'parameter')} and is given {_count(given, 'value')}; "
            f"give one value for each parameter (see {guide.STATEMENTS})"
        )
        yield call.source.finding(call.node.args[0], problem)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
