"""The console answers this machine's names, and takes orders from its own pages only."""

from typing import Any

import pytest

from melee.console.guard import Guard


def environ(method: str = "GET", host: str = "localhost:5000", **headers: str) -> dict[str, Any]:
    named = {f"HTTP_{name.upper()}": value for name, value in headers.items()}
    return {"REQUEST_METHOD": method, "HTTP_HOST": host} | named


@pytest.mark.parametrize("host", ["localhost", "localhost:5000", "LOCALHOST:1", "127.0.0.1:5000", "[::1]:80", "[::1]"])
def test_the_names_of_this_machine_are_answered(host: str) -> None:
    assert Guard("127.0.0.1").refusal(environ(host=host)) == ""


@pytest.mark.parametrize(
    ("told", "host"), [("dev.box", "dev.box:5000"), ("192.0.2.7", "192.0.2.7:5000"), ("fe80::1", "[fe80::1]:5000")]
)
def test_the_host_that_was_given_is_answered_and_no_other(told: str, host: str) -> None:
    assert Guard(told).refusal(environ(host=host)) == ""
    assert Guard("127.0.0.1").refusal(environ(host=host)).startswith(f"the console is not at the host '{host}'")


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "localhost.evil.example",
        "evil.localhost",
        "localhost.",
        "localhost:5000,evil.example",
        "localhost:5000@evil.example",
        "user@localhost",
        "localhost/",
        " localhost",
        "localhost:",
        "localhost:http",
        "[::1",
        "::1",
        "127.0.0.1.evil.example",
        "127.1",
        "0.0.0.0",
        "localhost\n",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_any_other_host_is_refused(host: str, method: str) -> None:
    assert "the console is not at the host" in Guard("127.0.0.1").refusal(environ(method, host))


def test_a_request_without_a_host_is_refused() -> None:
    assert "the console is not at the host ''" in Guard("localhost").refusal({"REQUEST_METHOD": "GET"})


def test_a_refusal_is_one_harmless_line_of_bounded_length() -> None:
    refusal = Guard("localhost").refusal(environ(host="evil\r\n\u202e<script>" + "x" * 10_000))
    assert refusal.isprintable()
    assert len(refusal) < 400


@pytest.mark.parametrize("site", ["same-origin", "none"])
@pytest.mark.parametrize(
    "headers", [{"origin": "http://localhost:5000"}, {"referer": "http://localhost:5000/_melee/?said=1"}, {}]
)
def test_a_form_of_this_page_is_obeyed(headers: dict[str, str], site: str) -> None:
    assert Guard("127.0.0.1").refusal(environ("POST", **headers)) == ""
    assert Guard("127.0.0.1").refusal(environ("POST", sec_fetch_site=site, **headers)) == ""


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://localhost:3000"},
        {"origin": "http://localhost"},
        {"origin": "http://127.0.0.1:5000"},
        {"origin": "http://[::1"},
        {"origin": "localhost:5000"},
        {"referer": "http://evil.example/localhost:5000"},
        {"referer": "http://localhost:5000@evil.example/"},
        {"origin": "http://localhost:5000", "referer": "http://evil.example/"},
        {"origin": "http://evil.example", "referer": "http://localhost:5000/"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "something-new"},
        {"origin": "http://localhost:5000", "sec_fetch_site": "cross-site"},
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_what_comes_from_another_page_is_refused(headers: dict[str, str], method: str) -> None:
    assert Guard("127.0.0.1").refusal(environ(method, **headers)).startswith("this was sent from a page elsewhere")


def test_a_link_from_elsewhere_may_lead_here() -> None:
    environment = environ("GET", referer="http://evil.example/", sec_fetch_site="cross-site")
    assert Guard("127.0.0.1").refusal(environment) == ""
