"""The page: what can be shared, and what is refused."""

import pytest
from melee.testing import AppUnderTest

from .conftest import share


def test_a_link_is_shown_the_newest_first(app: AppUnderTest) -> None:
    assert "Nobody has shared a link yet." in app.client.get("/").text
    assert share(app, "tea").status_code == 303
    app.clock.move(1)
    share(app, "pots")
    page = app.client.get("/").text
    assert page.index(">pots</a>") < page.index(">tea</a>")


@pytest.mark.parametrize("title", ["", "  ", "x" * 201])
def test_a_link_without_a_right_title_is_refused(app: AppUnderTest, title: str) -> None:
    form = {"title": title, "url": "https://example.org/"}
    refused = app.client.post("/links", data=form)
    assert refused.status_code == 422
    assert "Say in a few words what it is." in refused.text


@pytest.mark.parametrize(
    "url",
    [
        "",
        "tea",
        "javascript:alert(1)",
        "ftp://a",
        "https://",
        "https://a b",
        "http://a\nb",
    ],
)
def test_what_is_no_link_is_refused(app: AppUnderTest, url: str) -> None:
    refused = app.client.post("/links", data={"title": "Tea", "url": url})
    assert refused.status_code == 422
    assert "A link begins with https:// or http://." in refused.text
    assert 'value="Tea"' in refused.text


def test_what_people_write_is_shown_as_text(app: AppUnderTest) -> None:
    form = {"title": "<script>", "url": "https://example.org/?<script>"}
    app.client.post("/links", data=form)
    assert "<script>" not in app.client.get("/").text
