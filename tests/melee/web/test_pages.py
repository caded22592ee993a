"""The pages of errors say what happened and what to do, to a person and to a program, and need nothing else."""

import re

import pytest
from bs4 import BeautifulSoup

from melee.web.body import BODY_BYTES_AT_MOST
from melee.web.pages import error_page

STATUSES = [400, 408, 413, 414, 431, 500, 502, 503, 504]
HTML = "text/html,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize("status", STATUSES)
def test_a_page_names_the_status_what_happened_what_to_do_and_the_id_to_quote(status: int) -> None:
    content_type, page = error_page(status, "01JDX7", HTML)
    assert content_type == "text/html; charset=utf-8"
    soup = BeautifulSoup(page, "html.parser")
    title = soup.title
    heading = soup.h1
    assert title is not None
    assert heading is not None
    assert title.text == heading.text
    shown_status, happened, advice, request_id = (paragraph.text for paragraph in soup.find_all("p"))
    assert shown_status == str(status)
    assert happened.endswith(".")
    assert advice.endswith(".")
    assert "01JDX7" in request_id
    assert len(page) < 3000


@pytest.mark.parametrize("status", STATUSES)
def test_a_page_loads_nothing_and_runs_nothing(status: int) -> None:
    page = error_page(status, "01JDX7", HTML)[1].decode()
    soup = BeautifulSoup(page, "html.parser")
    assert soup.find_all(["script", "link", "img", "iframe", "a", "form"]) == []
    assert not re.search(r"url\(|@import|https?:|\bon\w+=|src=|href=", page)


@pytest.mark.parametrize("status", STATUSES)
def test_a_program_gets_the_same_words_as_text(status: int) -> None:
    content_type, text = error_page(status, "01JDX7", "*/*")
    soup = BeautifulSoup(error_page(status, "01JDX7", HTML)[1], "html.parser")
    _status, happened, advice, _id = (paragraph.text for paragraph in soup.find_all("p"))
    assert content_type == "text/plain; charset=utf-8"
    assert soup.h1 is not None
    assert text.decode() == f"{status} {soup.h1.text}\n\n{happened}\n{advice}\nRequest: 01JDX7\n"


def test_an_id_that_is_markup_is_shown_as_it_is() -> None:
    page = error_page(500, "<script>$status", HTML)[1]
    soup = BeautifulSoup(page, "html.parser")
    assert soup.script is None
    assert soup.code is not None
    assert soup.code.text == "<script>$status"


def test_what_never_became_a_request_has_no_id_to_quote() -> None:
    assert b"quote" not in error_page(408, "", HTML)[1]
    assert error_page(408, "", "*/*")[1].endswith(b"send it again.\n")


def test_a_page_fits_a_phone_and_both_palettes() -> None:
    page = error_page(502, "01JDX7", HTML)[1].decode()
    assert 'name="viewport" content="width=device-width' in page
    assert "color-scheme: light dark" in page
    assert "prefers-color-scheme: dark" in page


def test_the_page_names_the_limit_that_is_enforced() -> None:
    assert f"{BODY_BYTES_AT_MOST // 2**20} MiB".encode() in error_page(413, "", HTML)[1]


@pytest.mark.parametrize(
    ("accept", "html"),
    [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", True),
        ("TEXT/HTML", True),
        ("*/*", False),
        ("application/json", False),
        ("", False),
    ],
)
def test_a_browser_gets_a_page_and_a_program_gets_text(accept: str, html: bool) -> None:
    assert error_page(502, "", accept)[0].startswith("text/html") is html
