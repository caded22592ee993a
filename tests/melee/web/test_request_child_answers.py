"""What becomes of what an app answers, and of what it raises."""

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from flask import Flask, Response

from melee.web.exchange import Kind, read_head
from tests.melee.web.served import GET, answer_of, get, says, served

Environ = dict[str, Any]
Start = Callable[..., Any]
PLAIN = [("Content-Type", "text/plain")]


def test_a_part_of_a_response_arrives_before_the_next_is_made() -> None:
    may_go_on = threading.Event()

    def parts() -> Iterator[bytes]:
        yield b"first"
        assert may_go_on.wait(60)
        yield b""
        yield b"second"

    with served(lambda _environ, start_response: start_response("200 OK", PLAIN) and parts()) as child:
        child.ask(GET)
        frames = [child.frame(), child.frame()]
        may_go_on.set()
        frames += [child.frame() for _ in range(3)]
    assert frames[0]
    assert frames[0][0] is Kind.HEAD
    assert frames[1:] == [(Kind.BODY, b"first"), (Kind.BODY, b"second"), (Kind.LAST_END, b""), None]


def test_a_response_of_many_small_parts_comes_whole() -> None:
    def app(_environ: Environ, start_response: Start) -> Iterable[bytes]:
        start_response("200 OK", PLAIN)
        return (b"%d," % number for number in range(1000))

    assert answer_of(app).body == b"".join(b"%d," % number for number in range(1000))


def test_a_large_part_comes_in_pieces_so_that_nobody_has_to_hold_all_of_it() -> None:
    body = bytes(range(256)) * 40_000
    sizes = []
    with served(says(body)) as child:
        child.ask(GET)
        head = child.frame()
        received = b""
        while (frame := child.frame()) and frame[0] is Kind.BODY:
            sizes.append(len(frame[1]))
            received += frame[1]
    assert head
    assert dict(read_head(head[1]).headers)[b"content-length"] == b"10240000"
    assert received == body
    assert max(sizes) <= 65_536


def test_what_is_written_goes_before_what_is_returned() -> None:
    def app(_environ: Environ, start_response: Start) -> list[bytes]:
        write = start_response("200 OK", PLAIN)
        write(b"one ")
        write(b"two ")
        return [b"three"]

    answer = answer_of(app)
    assert (answer.body, answer.headers, answer.end) == (
        b"one two three",
        {"content-type": "text/plain"},
        Kind.LAST_END,
    )


@pytest.mark.parametrize("body", [[], [b""], [b"", b""], ()])
def test_a_response_without_a_body_has_a_head(body: Iterable[bytes]) -> None:
    def app(_environ: Environ, start_response: Start) -> Iterable[bytes]:
        start_response("302 Found", [("Location", "/")])
        return body

    answer = answer_of(app)
    assert (answer.status, answer.end) == (302, Kind.LAST_END)
    assert answer.headers == {"location": "/", "content-length": "0"}


@pytest.mark.parametrize(
    ("method", "status", "headers"),
    [
        ("HEAD", 200, {"content-type": "text/plain"}),
        ("GET", 204, {"content-type": "text/plain"}),
        ("GET", 304, {"content-type": "text/plain"}),
    ],
)
@pytest.mark.parametrize("body", [[], [b""]])
def test_a_response_that_has_no_body_by_its_nature_says_nothing_of_its_length(
    method: str, status: int, headers: dict[str, str], body: list[bytes]
) -> None:
    def app(_environ: Environ, start_response: Start) -> list[bytes]:
        start_response(f"{status} X", PLAIN)
        return body

    answer = answer_of(app, get(method=method))
    assert (answer.status, answer.headers, answer.body, answer.end) == (status, headers, b"", Kind.LAST_END)


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
def test_a_body_where_none_belongs_is_left_out(method: str, status: int) -> None:
    app = Flask(__name__)
    app.add_url_rule("/", "index", lambda: Response([b"some", b"thing"], status))
    plain = says("something", f"{status} X")
    for served_app in (app, plain):
        answer = answer_of(served_app, get(method=method))
        assert (answer.status, answer.body, answer.end) == (status, b"", Kind.LAST_END)
    assert answer_of(plain, get(method="HEAD")).headers.get("content-length") == ("9" if status == 200 else None)
