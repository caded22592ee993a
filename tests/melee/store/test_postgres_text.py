"""The text of SQL is read as Postgres reads it: what only looks like a parameter or an end is left alone."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from melee.store.postgres import PostgresConnection, postgres_array
from melee.store.postgres_text import numbered, statements


@pytest.fixture
def connection(postgres: str) -> Iterator[PostgresConnection]:
    with closing(PostgresConnection(postgres)) as opened:
        yield opened


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT '? :a ; ''? :a'",
        r"SELECT E'\'? :a;' , e'\\', 1",
        "SELECT E'one'\n  '\\'? :a'",
        "SELECT U&'? :a', B'01', N'? :a'",
        'SELECT "? :a ""? :a" FROM t',
        "SELECT $$ ? :a ' $$, $body$ ? $$ :a $body$",
        "SELECT a$b$ FROM t WHERE c = a$b$",
        "SELECT 1 -- ? :a ;",
        "SELECT /* ? /* :a */ ? */ 1",
        "SELECT '1'::integer::text, now()::date",
        "SELECT a[1:2], a[lo:hi], a[f(x):hi], a[b[1]:hi] FROM t",
        "SELECT 'never ends ? :a",
        "SELECT $tag$ never ends ? :a",
        "SELECT /* never ends ? :a",
    ],
)
def test_what_only_looks_like_a_parameter_is_left_alone(sql: str) -> None:
    text = numbered(sql)
    assert (text.sql, text.names, text.questions) == (sql, [], 0)


@pytest.mark.parametrize(
    ("sql", "words", "names"),
    [
        ("SELECT ?, '?', ?", "SELECT $1, '?', $2", []),
        ("SELECT :a, :b_2, :a::text", "SELECT $1, $2, $1::text", ["a", "b_2"]),
        ("SELECT data ?? 'a', data ??| :keys", "SELECT data ? 'a', data ?| $1", ["keys"]),
        ("SELECT (:a), x=:b,-:c", "SELECT ($1), x=$2,-$3", ["a", "b", "c"]),
        ("SELECT ARRAY[:a]", "SELECT ARRAY[$1]", ["a"]),
    ],
)
def test_parameters_are_numbered(sql: str, words: str, names: list[str]) -> None:
    text = numbered(sql)
    assert (text.sql, text.names) == (words, names)


@given(st.lists(st.sampled_from(["?", ":name", "??", "'? :a'", "é", "::text", " ", "-- ?\n", "$$?$$", "\n"])))
def test_each_place_is_found_again_in_what_was_written(parts: list[str]) -> None:
    written = "".join(parts) + "|"
    text = numbered(written)
    assert text.origin(text.sql.rindex("|")) == len(written) - 1
    for index, letter in enumerate(text.sql):
        if letter == "é":
            assert written[text.origin(index)] == "é"


texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]) | st.sampled_from("?:'\"$;\\-/*"))


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def escaped(text: str) -> str:
    return "E'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def in_dollars(text: str) -> str:
    tag = next(f"$a{number}$" for number in range(1000) if f"$a{number}" not in text)
    return f"{tag}{text}{tag}"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(texts, st.sampled_from([quoted, escaped, in_dollars])), min_size=1, max_size=5), texts)
def test_no_text_in_a_statement_is_ever_touched(
    connection: PostgresConnection, literals: list[tuple[str, object]], value: str
) -> None:
    columns = [f"{write(text)} AS c{number}" for number, (text, write) in enumerate(literals)]  # type: ignore[operator]
    sql = f"SELECT {', '.join(columns)}, ?::text AS value /* {value.replace('*', '').replace('/', '')} */"
    assert list(statements(sql)) == [(0, sql.rstrip())]
    (row,) = connection.execute(sql, (value,))
    assert list(row.values()) == [*(text for text, _write in literals), value]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(texts | st.none()), st.lists(st.integers(-(2**63), 2**63 - 1)), st.lists(st.floats(allow_nan=False)))
def test_an_array_comes_out_as_it_went_in(
    connection: PostgresConnection, words: list[str | None], numbers: list[int], floats: list[float]
) -> None:
    (row,) = connection.execute(
        "SELECT ?::text[] AS words, ?::bigint[] AS numbers, ?::double precision[] AS floats",
        tuple(postgres_array(values) for values in (words, numbers, floats)),
    )
    assert row == {"words": words, "numbers": numbers, "floats": floats}


def test_statements_are_told_apart_with_the_place_where_each_begins() -> None:
    script = "-- first;\nSELECT 1;; /* ; */ SELECT (2;3) ; SELECT ';' ;\n DO $$ BEGIN; END $$;\n-- ; end"
    assert list(statements(script)) == [
        (10, "SELECT 1;"),
        (29, "SELECT (2;3) ;"),
        (44, "SELECT ';' ;"),
        (58, "DO $$ BEGIN; END $$;"),
    ]
    assert list(statements(" \n;-- nothing\n;")) == []


@pytest.mark.parametrize("begins", ["CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", "create procedure"])
def test_the_body_of_a_routine_is_a_part_of_it(begins: str) -> None:
    routine = f"{begins} f(a int DEFAULT CASE WHEN true THEN 1 END) BEGIN ATOMIC SELECT CASE WHEN a THEN 1 END; END;"
    assert [text for _index, text in statements(f"{routine} SELECT 1; END; SELECT 2")] == [
        routine,
        "SELECT 1;",
        "END;",
        "SELECT 2",
    ]
