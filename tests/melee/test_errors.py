"""Errors are values: each says what happened in one line, and is the same error on the other side of a socket."""

import ast
from pathlib import Path

import msgspec
import pytest

from melee import errors
from melee.errors import MeleeError, from_values

TESTS = Path(__file__).parents[1]

EXAMPLES: dict[str, MeleeError] = {
    "/srv/board is not an app: it has no app.py": errors.NotAnApp("/srv/board", "it has no app.py"),
    "melee.toml: Object contains unknown field `slot`": errors.BadConfig(
        "melee.toml", "Object contains unknown field `slot`"
    ),
    "/srv/board/data is in use by process 42: stop it first, or run this app on another data folder": (
        errors.AlreadyRunning("/srv/board/data", 42)
    ),
    "no server runs on /srv/board/data; start one with `melee serve`": errors.NotRunning("/srv/board/data"),
    "there is no object Stats/visit; there is Stats/visits": errors.NoSuchObject("Stats/visit", ["Stats/visits"]),
    "there is no job 42; `melee jobs` lists those that are": errors.NoSuchJob(42),
    "lib/stats.py:3: Stats.id: choose another name": errors.DefinitionError(
        "lib/stats.py:3: Stats.id", "choose another name"
    ),
    '001_days.sql:2:8: near "TABEL": syntax error in: CREATE TABEL days': errors.MigrationError(
        "001_days.sql:2:8", "CREATE TABEL days", 'near "TABEL": syntax error'
    ),
    "Stats.hit argument 1: bytes is not JSON-shaped; pass text": errors.ShapeError(
        "Stats.hit argument 1", "bytes is not JSON-shaped; pass text"
    ),
    "after=-1 is negative; pass 0 or more seconds": errors.TimerError("after=-1 is negative; pass 0 or more seconds"),
    "no such table: day in: SELECT * FROM day": errors.DatabaseError("SELECT * FROM day", "no such table: day"),
    "UNIQUE constraint failed: days.on_date in: INSERT INTO days VALUES (1)": errors.ConstraintError(
        "INSERT INTO days VALUES (1)", "UNIQUE constraint failed: days.on_date"
    ),
    "database or disk is full in: COMMIT": errors.DatabaseFull("COMMIT", "database or disk is full"),
    "database is locked in: BEGIN IMMEDIATE": errors.DatabaseLocked("BEGIN IMMEDIATE", "database is locked"),
    "postgresql://host/name: connection refused": errors.DatabaseUnreachable(
        "", "postgresql://host/name: connection refused"
    ),
    "PRAGMA synchronous is refused in: PRAGMA synchronous = OFF": errors.StatementRefused(
        "PRAGMA synchronous = OFF", "PRAGMA synchronous is refused"
    ),
    "app.sqlite3 was opened by process 7 and used by 8: open a database after the fork, in the process that uses it": (
        errors.WrongProcess("app.sqlite3", 7, 8)
    ),
    "Stats/visits calls Stats/all.hit inside a transaction (setup is one too): "
    "leave the transaction first, or set timer(after=0) and call from on_timer": (
        errors.TransactionOpen("Stats/visits", "Stats/all.hit")
    ),
    "Stats/visits.hit has nowhere to go: this process belongs to no running app. "
    "Start the app with `melee dev`, or use melee.testing.AppUnderTest in a test": errors.NoOwner("Stats/visits.hit"),
    "Stats/visits.hit failed": errors.ObjectError("Stats/visits", "hit"),
    "Stats/visits.hit raised KeyError: 'x'": errors.ObjectCallError(
        "Stats/visits", "hit", "KeyError", "'x'", "Traceback …"
    ),
    "Stats/visits.hit did not run: no object worker listens; it is safe to call again": errors.ObjectUnavailable(
        "Stats/visits", "hit", "no object worker listens"
    ),
    "Stats/visits.hit may have run: its commit failed; look before you call again": errors.OutcomeUnknown(
        "Stats/visits", "hit", "its commit failed"
    ),
    "Stats/visits.hit was refused: 1000 callers are waiting already; call again later": errors.Overloaded(
        "Stats/visits", "hit", "1000 callers are waiting already"
    ),
    "Stats/visits.hit gave no answer within 30 s; it may have run": errors.CallTimeout("Stats/visits", "hit", 30.0),
    "POST http://mail.example/send: it answered 503": errors.HttpError(
        "POST", "http://mail.example/send", "it answered 503", 503
    ),
    "A/1.ask would wait for itself: A/1 → B/1 → A/1": errors.Deadlock("A/1", "ask", ["A/1", "B/1", "A/1"]),
}


def every_error(root: type[MeleeError] = MeleeError) -> list[type[MeleeError]]:
    """The errors of melee.errors that have values, so all but the two that only gather others."""
    below = [found for child in root.__subclasses__() for found in every_error(child)]
    has_values = root.__module__ == errors.__name__ and hasattr(root, "__dataclass_fields__")
    return [root, *below] if has_values else below


def raised_by_a_test(tests: Path) -> set[str]:
    """The names inside every `pytest.raises(…)` and every `isinstance(…, …)` below a folder."""
    names: set[str] = set()
    for file in tests.rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) in ("pytest.raises", "isinstance"):
                names |= {ast.unparse(part).rpartition(".")[2] for given in call.args for part in ast.walk(given)}
    return names


@pytest.mark.parametrize("message", EXAMPLES)
def test_a_message_says_in_one_line_what_happened_with_which_values(message: str) -> None:
    assert str(EXAMPLES[message]) == message
    assert "\n" not in message


@pytest.mark.parametrize("error", EXAMPLES.values(), ids=lambda error: type(error).__name__)
def test_an_error_that_crossed_a_socket_is_the_same_error(error: MeleeError) -> None:
    crossed = msgspec.json.decode(msgspec.json.encode(error.values()))
    again = from_values(type(error).__name__, crossed)
    assert type(again) is type(error)
    assert again.values() == error.values()
    assert str(again) == str(error)


def test_no_error_is_without_an_example_above() -> None:
    assert {type(example) for example in EXAMPLES.values()} == set(every_error())


def test_every_error_says_when_it_is_raised() -> None:
    all_errors: list[type[MeleeError]] = [MeleeError, errors.BadInput, *every_error()]
    for error in all_errors:
        # A dataclass without a docstring is given its signature as one.
        assert not (error.__dict__["__doc__"] or f"{error.__name__}(").startswith(f"{error.__name__}("), error


def test_a_name_that_is_no_error_is_refused() -> None:
    with pytest.raises(LookupError, match="no error of melee is called KeyError"):
        from_values("KeyError", {})


def test_a_long_list_of_objects_is_cut_short() -> None:
    assert str(errors.NoSuchObject("A/0", [f"A/{number}" for number in range(1, 8)])).endswith("A/4, A/5, …")
    assert str(errors.NoSuchObject("A/0", [])).endswith("there is none yet")


def test_errors_that_python_has_a_name_for_are_caught_by_that_name() -> None:
    assert issubclass(errors.ShapeError, TypeError)
    assert issubclass(errors.DefinitionError, TypeError)
    assert issubclass(errors.TimerError, ValueError)


def test_every_error_is_raised_by_a_test() -> None:
    assert {error.__name__ for error in every_error()} - {"ObjectError"} <= raised_by_a_test(TESTS)


def test_an_error_in_a_comment_or_a_string_is_not_raised(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "# pytest.raises(Deadlock)\npytest.raises(errors.NoOwner, match='Overloaded')\n"
    )
    found = raised_by_a_test(tmp_path)
    assert "NoOwner" in found
    assert not {"Deadlock", "Overloaded"} & found
