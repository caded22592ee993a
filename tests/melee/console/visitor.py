"""Who looks at the console through werkzeug's client, and what is put there to be seen."""

from typing import Any

from bs4 import BeautifulSoup, Tag
from werkzeug.test import Client, TestResponse

from melee.console.console import Console
from melee.console.jobs import opened_store
from melee.jobs.store import Failure, NewJob, Wanted

HOST = "localhost:5000"


class Visitor:
    """A browser without JavaScript, at the console of an app in this process."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.client = Client(Console(app, app, "127.0.0.1"))

    def get(self, path: str = "", **headers: str) -> TestResponse:
        return self.client.get(f"/_melee/{path}", headers={"Host": HOST} | _named(headers))

    def post(self, path: str, **headers: str) -> TestResponse:
        return self.client.post(f"/_melee/{path}", headers={"Host": HOST} | _named(headers))

    def page(self) -> BeautifulSoup:
        response = self.get()
        assert response.status_code == 200
        return BeautifulSoup(response.text, "html.parser")

    def order(self, path: str) -> str:
        """Presses a button; what the page says then."""
        response = self.post(path, Origin=f"http://{HOST}", Sec_Fetch_Site="same-origin")
        assert response.status_code == 303
        location = response.headers["Location"].removeprefix("/_melee/").removesuffix("#said")
        said = BeautifulSoup(self.get(location).text, "html.parser").find(id="said")
        assert said
        return said.get_text()

    def fail(self, *jobs: NewJob, error: str = "ValueError: no such user") -> list[int]:
        """Stores jobs, and lets each fail for good; returns their ids."""
        with opened_store(self.app.project) as connection:
            connection.jobs.insert(jobs)
            claims = connection.jobs.claim(Wanted(["default"], [job.name for job in jobs]), 1_000_000, 60, "host/1")
            connection.jobs.fail([Failure(claim, error, None) for claim in claims])
            return [claim.id for claim in claims]

    def store(self, *jobs: NewJob) -> None:
        with opened_store(self.app.project) as connection:
            connection.jobs.insert(jobs)

    def run_sql(self, sql: str, *parameters: Any) -> None:
        with opened_store(self.app.project) as connection:
            connection.database.run(sql, *parameters)


def section(page: BeautifulSoup, id: str) -> Tag:
    found = page.find(id=id)
    assert found
    return found


def words(part: Tag) -> str:
    """What is read there, with one blank between words."""
    return " ".join(part.get_text(" ").split())


def rows(part: Tag) -> list[list[str]]:
    """The cells of the rows of the tables in a part of the page, without their heads."""
    return [
        [words(cell) for cell in row.find_all(["th", "td"])] for body in part.find_all("tbody") for row in body("tr")
    ]


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
