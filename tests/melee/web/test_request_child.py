"""A request child is a WSGI server: what an app is given, what may come of it, and how long the child stays."""

from collections.abc import Callable
from tempfile import TemporaryFile
from typing import Any
from wsgiref.validate import validator

import pytest
from flask import Flask, request
from structlog.testing import capture_logs

from melee.web.exchange import Kind, request_message
from tests.melee.web.served import GET, answer_of, get, post, says, served

Environ = dict[str, Any]
Start = Callable[..., Any]
PLAIN = [("Content-Type", "text/plain")]


def environ_for(path: bytes = b"/", headers: list[tuple[bytes, bytes]] | None = None, **others: Any) -> Environ:
    """What an app is given for a request."""
    given: Environ = {}

    def app(environ: Environ, start_response: Start) -> list[bytes]:
        given.update(environ)
        start_response("200 OK", PLAIN)
        return []

    answer_of(app, get(path, headers, **others))
    return given


@pytest.mark.parametrize("given", [GET, get(method="HEAD"), post(b"some"), get(http_version="1.0")])
def test_it_does_as_the_validator_of_wsgi_wants_it(given: Any) -> None:
    def app(environ: Environ, start_response: Start) -> list[bytes]:
        body = environ["wsgi.input"].read(4)
        start_response("200 OK", [*PLAIN, ("Content-Length", str(len(body)))])
        return [body]

    with capture_logs() as logs:
        assert answer_of(validator(app), given).status == 200
    assert logs == []


@pytest.mark.parametrize(
    ("path", "path_info"),
    [
        (b"/", "/"),
        (b"/a%2Fb", "/a/b"),
        (b"/caf%C3%A9", "/caf\xc3\xa9"),
        (b"/%ff", "/\xff"),
        (b"/100%25%zz", "/100%%zz"),
        (b"/a+b;c", "/a+b;c"),
    ],
)
def test_the_path_is_decoded_and_its_bytes_are_characters(path: bytes, path_info: str) -> None:
    environ = environ_for(path)
    assert (environ["SCRIPT_NAME"], environ["PATH_INFO"]) == ("", path_info)


def test_the_query_stays_as_it_came() -> None:
    assert environ_for(query=b"a=%2F&b=\xff")["QUERY_STRING"] == "a=%2F&b=\xff"


def test_an_app_is_told_who_asks_and_where() -> None:
    environ = environ_for(scheme="https", http_version="1.0")
    names = ["REMOTE_ADDR", "REMOTE_PORT", "SERVER_NAME", "SERVER_PORT", "SERVER_PROTOCOL", "wsgi.url_scheme"]
    assert [environ[name] for name in names] == ["192.0.2.7", "50000", "127.0.0.1", "8000", "HTTP/1.0", "https"]
    assert environ["melee.request_id"] == "0123abcd"
    assert (environ["wsgi.multithread"], environ["wsgi.multiprocess"]) == (False, True)


def test_a_header_that_comes_more_than_once_is_joined_and_cookies_in_their_own_way() -> None:
    headers = [(b"accept", b"a"), (b"cookie", b"x=1"), (b"accept", b"b"), (b"cookie", b"y=\xe9")]
    environ = environ_for(headers=headers)
    assert environ["HTTP_ACCEPT"] == "a,b"
    assert environ["HTTP_COOKIE"] == "x=1; y=\xe9"


def test_a_body_that_came_in_chunks_has_a_length_and_is_not_in_chunks_any_more() -> None:
    environ = environ_for(headers=[(b"transfer-encoding", b"chunked")], body=b"some", body_bytes=4)
    assert environ["CONTENT_LENGTH"] == "4"
    assert "HTTP_TRANSFER_ENCODING" not in environ
    assert "HTTP_CONTENT_LENGTH" not in environ


def test_there_is_no_length_of_no_body_unless_it_was_announced() -> None:
    assert "CONTENT_LENGTH" not in environ_for()
    assert environ_for(headers=[(b"content-length", b"0")])["CONTENT_LENGTH"] == "0"


def test_neither_a_header_nor_the_environment_of_the_process_poses_as_something_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MELEE_SECRET", "x")
    environ = environ_for(headers=[(b"proxy", b"http://192.0.2.1/"), (b"content-type", b"text/plain")])
    assert not {"HTTP_PROXY", "HTTP_CONTENT_TYPE", "MELEE_SECRET", "PATH"} & environ.keys()
    assert environ["CONTENT_TYPE"] == "text/plain"


def test_a_large_body_is_read_from_its_file() -> None:
    app = Flask(__name__)

    @app.post("/")
    def size() -> str:
        return f"{request.stream.read(10)!r} {len(request.get_data())}"

    with TemporaryFile() as body:
        body.write(b"0123456789" * 1_000_000)
        body.seek(0)
        given = get(method="POST", body_bytes=10_000_000, headers=[(b"content-length", b"10000000")])
        assert answer_of(app, given, body).body == b"b'0123456789' 9999990"


def test_a_child_that_lost_the_descriptor_of_a_body_ends_and_says_why() -> None:
    with served(says("never asked"), requests_per_child=0) as child:
        child.ask(get(method="POST", body_bytes=100_000))
        assert child.answer().end is None
    assert "no descriptor is left" in str(child.error)


def test_a_body_that_nobody_reads_is_not_the_next_request() -> None:
    app = Flask(__name__)
    app.add_url_rule("/", "index", lambda: "here", methods=["GET", "POST"])
    with served(app, requests_per_child=0) as child:
        for given in (post(b"x" * 60_000), GET, post(b"y")):
            child.ask(given)
            assert child.answer().body == b"here"


@pytest.mark.parametrize(("requests_per_child", "asked"), [(1, 1), (3, 3)])
def test_a_child_ends_after_as_many_requests_as_it_may_serve(requests_per_child: int, asked: int) -> None:
    with served(says("x"), requests_per_child) as child:
        for number in range(asked):
            child.ask(GET)
            assert child.answer().end is (Kind.LAST_END if number == asked - 1 else Kind.END)
        assert child.frame() is None
    assert child.error is None


def test_a_child_that_stays_serves_until_the_gateway_hangs_up() -> None:
    with served(says("x"), requests_per_child=0) as child:
        for _ in range(10):
            child.ask(GET)
            assert child.answer().end is Kind.END
    assert child.error is None


@pytest.mark.parametrize("sent_bytes", [2, 10])
def test_a_request_that_never_becomes_whole_is_none(sent_bytes: int) -> None:
    with served(says("x")) as child:
        child.send(request_message(GET)[:sent_bytes])
        child.hang_up()
    assert child.error is None
