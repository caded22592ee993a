"""The app under test: real pages, a real index, and jobs that wait for the test."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from melee.testing import AppUnderTest
from werkzeug.test import TestResponse

FOLDER = Path(__file__).parents[1]


@pytest.fixture
def app() -> Iterator[AppUnderTest]:
    with AppUnderTest(FOLDER) as app:
        yield app


def add(app: AppUnderTest, name: str, description: str = "") -> int:
    """Adds a product and returns its id."""
    form = {"name": name, "description": description}
    assert app.client.post("/products", data=form).status_code == 303
    return int(rows(app, "SELECT max(id) AS id FROM products")[0]["id"])


def change(app: AppUnderTest, product: int, name: str) -> TestResponse:
    return app.client.post(f"/products/{product}", data={"name": name})


def withdraw(app: AppUnderTest, product: int) -> TestResponse:
    return app.client.post(f"/products/{product}/withdraw")


def finds(app: AppUnderTest, words: str) -> list[str]:
    """The names that the page of a search shows."""
    page = app.client.get("/", query_string={"q": words}).text
    return re.findall(r'<a href="/products/\d+">(.*?)</a>', page)


def rows(app: AppUnderTest, sql: str) -> list[dict[str, Any]]:
    with app.flask.app_context():
        found: list[dict[str, Any]] = app.flask.db.query(sql)  # type: ignore[attr-defined]
    return found
