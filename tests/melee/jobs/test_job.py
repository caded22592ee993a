"""Tests for `melee.jobs.job`: what can be registered, and what becomes of fields."""

from datetime import UTC, datetime
from typing import Any

import pytest

from melee.errors import DefinitionError, ShapeError
from melee.jobs.job import Job, check_class, job_of, key_of, payload_of


class Mail(Job):
    NAME = "mail"
    to: int
    cc: tuple[str, ...] = ()
    at: datetime | None = None

    def unique_key(self) -> Any:
        return {1: None, 2: "two", 3: 3, 4: "", 5: "a\0"}[self.to]

    def run(self, resources: object) -> None: ...


def test_a_job_comes_back_as_it_was_stored() -> None:
    mail = Mail(1, cc=("é", "\0"), at=datetime(2030, 1, 1, tzinfo=UTC))
    assert job_of(Mail, payload_of(mail)) == mail
    assert payload_of(mail) == '{"to":1,"cc":["é","\\u0000"],"at":"2030-01-01T00:00:00Z"}'


def test_a_field_with_a_default_may_be_added_while_jobs_wait() -> None:
    assert job_of(Mail, '{"to": 2}') == Mail(2)


class Loose(Job):
    NAME = "loose"
    anything: Any

    def run(self, resources: object) -> None: ...


def _deep() -> list[Any]:
    deep: list[Any] = []
    for _level in range(100_000):
        deep = [deep]
    return deep


@pytest.mark.parametrize(
    "job",
    [Mail("1"), Mail(1, cc="abc"), Mail(1, cc=("\ud800",)), Loose(object()), Loose(_deep())],  # type: ignore[arg-type]
    ids=["text", "no list", "surrogate", "object", "deep"],
)
def test_fields_that_would_not_come_back_are_refused(job: Job) -> None:
    with pytest.raises(ShapeError, match="its fields cannot be stored"):
        payload_of(job)


@pytest.mark.parametrize("payload", ["", "{", "[]", "{}", '{"to":"1"}', '{"to":1,"bcc":2}', '{"to":1.5}'])
def test_a_payload_that_does_not_fit_is_refused(payload: str) -> None:
    with pytest.raises(ShapeError, match=r"its payload does not fit .*\.Mail: "):
        job_of(Mail, payload)


def test_a_key_is_text() -> None:
    assert [key_of(Mail(1)), key_of(Mail(2))] == [None, "two"]
    for to in (3, 4, 5):
        with pytest.raises(ShapeError, match=r"return str\(…\), or None for no key"):
            key_of(Mail(to))


def run(self: Job, resources: object) -> None: ...


def generator(self: Job, resources: object) -> Any:
    yield


async def async_generator(self: Job, resources: object) -> Any:
    yield


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({}, "NAME is missing"),
        ({"NAME": ""}, "NAME is ''"),
        ({"NAME": "a\n"}, "NAME is"),
        ({"NAME": "a" * 201}, "NAME is"),
        ({"NAME": "a", "QUEUE": 3}, "QUEUE is 3"),
        ({"NAME": "a", "PRIORITY": 1.5}, "PRIORITY is 1.5"),
        ({"NAME": "a", "PRIORITY": 2**31}, "PRIORITY is 2147483648"),
        ({"NAME": "a", "MAX_ATTEMPTS": 0}, "MAX_ATTEMPTS is 0"),
        ({"NAME": "a", "TIMEOUT": 0}, "TIMEOUT is 0"),
        ({"NAME": "a", "JITTER": 2}, "JITTER is 2"),
        ({"NAME": "a", "UNIQUE_WHILE": "forever"}, "UNIQUE_WHILE is 'forever'"),
        ({"NAME": "a", "run": Job.run}, "it has no run"),
        ({"NAME": "a", "run": generator}, "its run has a yield"),
        ({"NAME": "a", "run": async_generator}, "its run has a yield"),
        ({"__annotations__": {"NAME": str}, "NAME": "a"}, "written without an annotation"),
    ],
)
def test_what_cannot_be_registered_says_why(settings: dict[str, Any], problem: str) -> None:
    make_class: Any = type(Job)
    cls = make_class("Bad", (Job,), {"run": run} | settings)
    with pytest.raises(DefinitionError) as refused:
        check_class(cls)
    assert problem in str(refused.value)
    assert "Bad" in str(refused.value)
