"""The pages: what is sold, what is refused, and what a search shows."""

import pytest
from melee.testing import AppUnderTest

from .conftest import add, change, finds


def test_a_product_is_shown_at_once_and_found_after_its_job(app: AppUnderTest) -> None:
    assert "Nothing is for sale yet." in app.client.get("/").text
    add(app, "Green tea", "From the north side of the hill")
    assert "Green tea" in app.client.get("/").text
    assert finds(app, "tea") == []

    assert app.jobs.run_pending() == 1
    assert finds(app, "tea") == ["Green tea"]


@pytest.mark.parametrize(
    "words",
    ["green", "GREEN", "gre", "tea green", "hill", "hill tea", '"green', "tea)"],
)
def test_a_product_is_found_by_its_words(app: AppUnderTest, words: str) -> None:
    add(app, "Green tea", "From the north side of the hill")
    add(app, "Pot", "Of clay")
    app.jobs.run_pending()
    assert finds(app, words) == ["Green tea"]


@pytest.mark.parametrize("words", ["coffee", "green coffee", "een", '"', "-", "*"])
def test_what_is_not_there_is_not_found(app: AppUnderTest, words: str) -> None:
    add(app, "Green tea")
    app.jobs.run_pending()
    assert finds(app, words) == []


def test_the_best_comes_first(app: AppUnderTest) -> None:
    add(app, "A pot", "For one who likes to drink tea alone in the morning")
    add(app, "Tea", "Tea")
    app.jobs.run_pending()
    assert finds(app, "tea") == ["Tea", "A pot"]


@pytest.mark.parametrize("name", ["", "  ", "x" * 101])
def test_a_product_without_a_right_name_is_refused(
    app: AppUnderTest, name: str
) -> None:
    refused = app.client.post("/products", data={"name": name})
    assert refused.status_code == 422
    assert "A name has 1 to 100 characters." in refused.text
    assert app.jobs.run_pending() == 0


def test_a_description_that_is_too_long_is_refused(app: AppUnderTest) -> None:
    tea = add(app, "Tea")
    form = {"name": "Tea", "description": "x" * 2001}
    refused = app.client.post(f"/products/{tea}", data=form)
    assert refused.status_code == 422
    assert "A description has up to 2,000 characters." in refused.text


def test_what_people_write_is_shown_as_text(app: AppUnderTest) -> None:
    tea = add(app, "<script>", "<script>")
    app.jobs.run_pending()
    for address in ("/", "/?q=script", f"/products/{tea}"):
        page = app.client.get(address).text
        assert "<script>" not in page
        assert "&lt;script&gt;" in page


def test_a_product_that_does_not_exist_is_not_found(app: AppUnderTest) -> None:
    assert app.client.get("/products/7").status_code == 404


def test_a_product_keeps_its_address_when_it_changes(app: AppUnderTest) -> None:
    tea = add(app, "Tea")
    assert change(app, tea, "Green tea").status_code == 303
    assert "Green tea" in app.client.get(f"/products/{tea}").text
