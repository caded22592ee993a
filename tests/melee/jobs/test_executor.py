"""Tests for `melee.jobs.executor` and `melee.jobs.resources`: what the code of a job finds, in a real worker."""

from melee.testing import WorkerUnderTest
from tests.melee.jobs.working import Ear, Place, Working, is_done, until

ONE = "[jobs]\nworkers = 1\n"

USES = """
from melee import Durable


class Mailer:
    def send(self, to):
        tell("sent", to)


class Pool:
    pass


app.provide(Mailer())


class Stats(Durable):
    def hit(self):
        self.storage.put("hits", self.storage.get("hits", 0) + 1)
        return self.storage.get("hits")


async def leave_over():
    tell("begun")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    tell("went on")


@app.jobs.register
class Later(Job):
    NAME = "later"
    to: int

    async def run(self, resources):
        asyncio.create_task(leave_over())
        await asyncio.sleep(0)
        resources.db.run("CREATE TABLE IF NOT EXISTS sent (number INTEGER)")
        resources.db.run("INSERT INTO sent (number) VALUES (?)", self.to)
        resources.log.info("is sending", to=self.to)
        resources.jobs.enqueue(Note(f"after {self.to}"))


@app.jobs.register
class Sends(Job):
    NAME = "sends"

    def run(self, resources):
        resources.require(Mailer).send("a@b.example")
        assert resources.app is app
        resources.log.info("has sent", to="a@b.example")
        print("and says so by itself")
        resources.require(Pool)


@app.jobs.register
class Hits(Job):
    NAME = "hits"

    def run(self, resources):
        tell("hits", Stats.get("visits").hit())


@app.jobs.register
class Leaves(Job):
    "Leaves a transaction open, or says whether it finds one and on which connection it is."
    NAME = "leaves"
    how: str

    def run(self, resources):
        connection = resources.db._connection
        resources.db.query("SELECT 1 AS one")
        tell(self.how, connection.in_transaction, id(connection))
        if self.how == "open":
            connection.control(connection.begins)
            resources.db.run("CREATE TABLE never (number INTEGER)")
        if self.how == "raises":
            with resources.db.transaction():
                resources.db.run("CREATE TABLE never (number INTEGER)")
                raise ValueError("no")
"""


def test_a_job_in_async_def_has_all_that_another_has(place: Place, ear: Ear) -> None:
    place.write_app(USES, ONE)
    for number in (1, 2):
        place.enqueue("later", to=number)
    with Working(place) as worker:
        heard = ear.several(4)
        until(lambda: is_done(place))
        # What it did not wait for does not go on in the next one.
        assert sorted(heard) == ["after 1", "after 2", "begun", "begun"]
        assert not ear.has_heard()
        lines = worker.logged("is sending")
        assert [(line["job"].partition("/")[0], line["to"]) for line in lines] == [("later", 1), ("later", 2)]
        assert len({line["job"] for line in lines}) == 2
    assert [row["number"] for row in place.run_sql("SELECT number FROM sent ORDER BY number")] == [1, 2]


def test_a_job_requires_what_the_app_provides(sqlite_place: Place, ear: Ear) -> None:
    sqlite_place.write_app(USES, ONE)
    sqlite_place.enqueue("sends", _max_attempts=1)
    with Working(sqlite_place) as worker:
        assert ear.next() == "sent a@b.example"
        until(lambda: sqlite_place.stats().failed)
        job = sqlite_place.job("sends")
        assert "resources.require(Pool): the app provides no Pool; write app.provide(Pool(…))" in (job.last_error or "")
        (sent,) = worker.logged("has sent")
        assert (sent["job"], sent["to"]) == (f"sends/{job.id}", "a@b.example")
        assert worker.logged("job sends raised")[0]["job"] == f"sends/{job.id}"
        assert "and says so by itself" in worker.output.read_text()


def test_a_job_calls_durable_objects(sqlite_place: Place, ear: Ear) -> None:
    sqlite_place.write_app(USES, ONE)
    sqlite_place.enqueue("hits", copies=3)
    with (
        WorkerUnderTest(sqlite_place.folder, data=sqlite_place.folder / "data"),
        Working(sqlite_place),
    ):
        assert ear.several(3) == ["hits 1", "hits 2", "hits 3"]


def test_one_connection_serves_job_after_job_and_carries_nothing_over(place: Place, ear: Ear) -> None:
    place.write_app(USES, ONE)
    with Working(place):
        place.enqueue("leaves", how="first")
        first = ear.next_words()
        place.enqueue("leaves", how="second")
        assert ear.next_words() == ["second", "False", first[2]]
        place.enqueue("leaves", how="raises", _max_attempts=1)
        assert ear.next_words() == ["raises", "False", first[2]]
        place.enqueue("leaves", how="open", _max_attempts=1)
        assert ear.next_words()[0] == "open"
        place.enqueue("leaves", how="last")
        assert ear.next_words()[:2] == ["last", "False"]
        until(lambda: place.stats().queued == place.stats().running == 0)
    exists = "pg_class WHERE relname" if place.url else "sqlite_master WHERE name"
    assert place.run_sql(f"SELECT 1 AS found FROM {exists} = 'never'") == []


def test_a_connection_that_postgres_ended_between_two_jobs_harms_no_job(postgres_place: Place, ear: Ear) -> None:
    postgres_place.write_app(USES, ONE)
    with Working(postgres_place):
        for number in range(3):
            postgres_place.enqueue("leaves", how=str(number), _max_attempts=1)
            assert ear.next_words()[:2] == [str(number), "False"]
            until(lambda: is_done(postgres_place))
            postgres_place.cut_connections()
        assert postgres_place.stats().failed == 0
