"""Rows that nobody's `enqueue` has written, and large ones."""

import json

from melee.jobs.store import Stats
from tests.melee.jobs.working import Ear, Place, Working, is_done, until

FIELDS = """
@app.jobs.register
class Fields(Job):
    NAME = "fields"
    number: int
    text: str = "default"

    def __post_init__(self):
        if self.number < 0:
            raise LookupError("no such number")

    def run(self, resources):
        tell("fields", self.number, len(self.text))
"""

BROKEN = {
    "{": "Input data was truncated",
    "": "Input data was truncated",
    "[1]": "Expected `object`, got `array`",
    "{}": "Object missing required field `number`",
    '{"number": "one"}': "Expected `int`, got `str` - at `$.number`",
    '{"number": 1, "more": 2}': "Object contains unknown field `more`",
    '{"number": -1}': "no such number",
}


def test_a_payload_that_does_not_fit_fails_for_good_and_says_why(place: Place, ear: Ear) -> None:
    place.write_app(FIELDS, "[jobs]\nworkers = 1\n")
    for payload in BROKEN:
        place.run_sql("INSERT INTO melee_jobs (name, payload) VALUES ('fields', ?)", payload)
    place.run_sql("INSERT INTO melee_jobs (name, payload) VALUES ('fields', ?)", '{"number": 7}')
    with Working(place) as worker:
        assert ear.next() == "fields 7 7"
        until(lambda: place.stats() == Stats(0, 0, len(BROKEN)))
        assert len(worker.logged("failed for good")) == len(BROKEN)
    jobs = {job.payload: job for job in place.jobs()}
    for payload, problem in BROKEN.items():
        assert jobs[payload].attempts == 1
        assert "its payload does not fit app.Fields: " in (jobs[payload].last_error or "")
        assert problem in (jobs[payload].last_error or "")
    assert not ear.has_heard()


def test_a_name_that_nobody_registered_stays_queued_and_is_spoken_of(place: Place, ear: Ear) -> None:
    place.write_app(settings="[jobs]\nworkers = 1\n")
    place.enqueue("obsolete", _priority=9)
    place.enqueue("note", text="behind it")
    with Working(place) as worker:
        assert ear.next() == "behind it"
        until(lambda: worker.logged("jobs are queued that no registered class runs"))
        assert worker.logged("no registered class")[0]["names"] == "obsolete"
        until(lambda: place.stats() == Stats(1, 0, 0))
    assert (place.job("obsolete").status, place.job("obsolete").attempts) == ("queued", 0)


def test_a_megabyte_wakes_a_worker_and_runs(place: Place, ear: Ear) -> None:
    place.write_app(FIELDS, "[jobs]\nworkers = 1\n")
    with Working(place):
        place.enqueue("note", text="first")
        assert ear.next() == "first"
        for number in range(3):
            place.run_sql(
                "INSERT INTO melee_jobs (name, payload) VALUES ('fields', ?)",
                json.dumps({"number": number, "text": "é" * 500_000}, ensure_ascii=False),
            )
            place.enqueue("fields", number=10 + number, text="x" * 1_000_000)
            assert sorted(ear.several(2)) == sorted([f"fields {number} 500000", f"fields {10 + number} 1000000"])
        until(lambda: is_done(place))
