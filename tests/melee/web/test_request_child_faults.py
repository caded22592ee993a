"""What becomes of what an app raises, and of answers that are none."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask, abort
from structlog.testing import capture_logs

from melee.web.exchange import Kind
from tests.melee.web.served import GET, Answer, answer_of, get, served

Environ = dict[str, Any]
Start = Callable[..., Any]
PLAIN = [("Content-Type", "text/plain")]


class Body:
    """A body of the given parts; raises where a part is an exception, and in `close` when it is told to."""

    def __init__(self, *parts: bytes | Exception, close_raises: bool = False) -> None:
        self.parts, self.close_raises = parts, close_raises
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        for part in self.parts:
            if isinstance(part, Exception):
                raise part
            yield part

    def close(self) -> None:
        self.is_closed = True
        if self.close_raises:
            raise OSError("close")

    def __call__(self, _environ: Environ, start_response: Start) -> "Body":
        start_response("200 OK", PLAIN)
        return self


def answer_and_fault(app: Any, request: Any = GET) -> tuple[Answer, str]:
    """What came for a request, and what the log says was raised."""
    with capture_logs() as logs:
        answer = answer_of(app, request)
    return answer, " ".join(repr(entry["exc_info"]) for entry in logs)


def test_a_body_is_closed_when_it_was_sent() -> None:
    body = Body(b"one", b"two")
    assert answer_of(body).body == b"onetwo"
    assert body.is_closed


def test_what_close_raises_after_the_body_is_in_the_log_and_the_response_is_whole() -> None:
    answer, fault = answer_and_fault(Body(b"one", close_raises=True))
    assert (answer.status, answer.body, answer.end) == (200, b"one", Kind.LAST_END)
    assert fault == "OSError('close')"


@pytest.mark.parametrize("parts", [(), (b"",), (b"", b"")])
@pytest.mark.parametrize("close_raises", [False, True])
def test_an_app_that_raises_before_its_body_is_answered_for_with_a_page(
    parts: tuple[bytes], close_raises: bool
) -> None:
    body = Body(*parts, ValueError("first"), close_raises=close_raises)
    answer, fault = answer_and_fault(body)
    assert (answer.status, answer.end) == (500, Kind.LAST_END)
    assert answer.headers == {
        "content-type": "text/plain; charset=utf-8",
        "content-length": str(len(answer.body)),
    }
    assert answer.body.startswith(b"500 Something went wrong here")
    assert b"0123abcd" in answer.body
    assert fault == ("OSError('close')" if close_raises else "ValueError('first')")
    assert body.is_closed


@pytest.mark.parametrize("error", [ValueError("x"), ConnectionResetError("x"), BrokenPipeError("x"), TimeoutError("x")])
def test_an_app_that_raises_at_once_is_answered_for_whatever_it_raises(error: Exception) -> None:
    def app(_environ: Environ, _start_response: Start) -> list[bytes]:
        raise error

    answer, fault = answer_and_fault(app, get(headers=[(b"accept", b"text/html,*/*")]))
    assert answer.status == 500
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert fault == repr(error)


@pytest.mark.parametrize("close_raises", [False, True])
def test_a_response_breaks_off_where_the_app_raised(close_raises: bool) -> None:
    body = Body(b"one", ValueError("second"), close_raises=close_raises)
    answer, fault = answer_and_fault(body)
    assert (answer.status, answer.body, answer.end) == (200, b"one", None)
    assert fault == ("OSError('close')" if close_raises else "ValueError('second')")
    assert body.is_closed


def test_a_child_that_stays_ends_when_a_response_broke_off() -> None:
    with served(Body(b"one", ValueError("second")), requests_per_child=0) as child, capture_logs():
        child.ask(GET)
        assert child.answer().end is None
    assert child.error is None


def test_a_child_that_stays_goes_on_after_an_app_raised() -> None:
    with served(Body(ValueError("first")), requests_per_child=0) as child, capture_logs():
        for _ in range(3):
            child.ask(GET)
            assert child.answer().status == 500


@pytest.mark.parametrize("leaves", [SystemExit(3), KeyboardInterrupt()])
def test_an_app_that_ends_its_process_gives_no_answer(leaves: BaseException) -> None:
    def app(_environ: Environ, _start_response: Start) -> list[bytes]:
        raise leaves

    with served(app) as child:
        child.ask(GET)
        assert child.answer() == Answer(0, {}, b"", None)
    assert child.error is leaves


def test_an_app_may_change_its_mind_before_the_body() -> None:
    def app(_environ: Environ, start_response: Start) -> list[bytes]:
        start_response("200 OK", PLAIN)
        try:
            raise ValueError("x")
        except ValueError as error:
            start_response("409 Conflict", PLAIN, (ValueError, error, error.__traceback__))
        return [b"sorry"]

    assert (answer_of(app).status, answer_of(app).body) == (409, b"sorry")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("status", "headers", "fault"),
    [
        ("200 OK", [("X-Name", "a\r\nSet-Cookie: b")], "is no header"),
        ("200 OK", [("X Name", "a")], "is no header"),
        ("200 OK", [("X-Name", "\u20ac")], "is no header"),
        ("200 OK", [("Content-Length", "many")], "is no length"),
        ("200 OK", [("Content-Length", "-1")], "is no length"),
        ("304 Not Modified", [("Content-Length", "many")], "is no length"),
        ("200 OK", [("Content-Length", "1"), ("Content-Length", "2")], "'1', '2' is no length"),
        ("200 OK", [("Connection", "close")], "Hop-by-hop"),
        ("101 Switching Protocols", [], "none that ends a request"),
        ("999 OK", [], "none that ends a request"),
        ("200", [], "Status"),
        (200, [], "Status"),
    ],
)
def test_a_head_that_is_none_is_a_fault_of_the_app(
    method: str, status: Any, headers: list[tuple[str, str]], fault: str
) -> None:
    def app(_environ: Environ, start_response: Start) -> list[bytes]:
        start_response(status, headers)
        return [b"x"]

    answer, raised = answer_and_fault(app, get(method=method))
    assert (answer.status, answer.end) == (500, Kind.LAST_END)
    assert fault in raised


@pytest.mark.parametrize(
    ("app", "fault"),
    [
        (lambda _environ, _start_response: [], "without a call of start_response"),
        (lambda _environ, _start_response: [b"x"], "write() before start_response()"),
        (lambda _environ, start_response: start_response("200 OK", []) and None, "NoneType"),
        (lambda _environ, start_response: start_response("200 OK", []) and ["text"], "bytes instance"),
        (lambda _environ: [], "positional argument"),
    ],
)
def test_an_app_that_is_no_wsgi_app_is_told_so(app: Any, fault: str) -> None:
    answer, raised = answer_and_fault(app)
    assert answer.status == 500
    assert fault in raised


def test_a_body_longer_than_announced_ends_where_it_was_to_end() -> None:
    def app(_environ: Environ, start_response: Start) -> list[bytes]:
        start_response("200 OK", [("Content-Length", "5")])
        return [b"one", b"two", b"three"]

    answer, fault = answer_and_fault(app)
    assert (answer.body, answer.end) == (b"onetw", None)
    assert "longer than its Content-Length" in fault


def test_a_body_shorter_than_announced_breaks_off() -> None:
    def app(_environ: Environ, start_response: Start) -> list[bytes]:
        start_response("200 OK", [("Content-Length", "5")])
        return [b"one"]

    answer, fault = answer_and_fault(app)
    assert (answer.body, answer.end) == (b"one", None)
    assert "2 bytes shorter than its Content-Length" in fault


def test_an_app_that_gives_the_same_list_of_headers_twice_is_answered_for_twice() -> None:
    bodies = [b"long body", b"short"]
    with served(lambda _environ, start: [start("200 OK", PLAIN) and bodies.pop(0)], requests_per_child=0) as child:
        for length in ("9", "5"):
            child.ask(GET)
            assert child.answer().headers["content-length"] == length
    assert PLAIN == [("Content-Type", "text/plain")]


def test_an_error_of_flask_is_an_answer_like_any_other() -> None:
    app = Flask(__name__)
    app.add_url_rule("/", "index", lambda: abort(418))
    assert answer_of(app).status == 418
