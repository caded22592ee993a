"""What of an answer is taken, beside a server that means no good."""

import gzip
import tracemalloc

import pytest

from melee import http
from melee.exchange import BYTES_AT_MOST
from tests.melee.upstream import answering, upstream


def test_a_compressed_answer_is_unpacked() -> None:
    packed = gzip.compress(b"small ") + gzip.compress(b"and more")
    with upstream(answering(packed, headers="Content-Encoding: gzip\r\n")) as server:
        assert http.get(server.url).content == b"small and more"
    assert "Accept-Encoding: gzip" in server.requests[0].splitlines()


@pytest.mark.parametrize(
    ("body", "encoding", "problem"),
    [
        (gzip.compress(b"a" * 1000)[:-9], "gzip", "cannot be unpacked .*ended before"),
        (gzip.compress(b"a" * 1000)[:-8] + bytes(8), "gzip", "cannot be unpacked .*CRC"),
        (b"as it is", "gzip", "cannot be unpacked"),
        (b"as it is", "br", "the answer is packed as 'br', which nobody asked for"),
        (gzip.compress(gzip.compress(b"a")), "gzip, gzip", "packed as 'gzip, gzip'"),
    ],
    ids=["cut off", "wrong sum", "no gzip", "br", "twice"],
)
def test_what_cannot_be_unpacked_is_an_error(body: bytes, encoding: str, problem: str) -> None:
    whole = answering(body, headers=f"Content-Encoding: {encoding}\r\n")
    with upstream(whole) as server, pytest.raises(http.Error, match=problem):
        http.get(server.url)


@pytest.mark.parametrize(
    ("body", "encoding"),
    [(bytes(BYTES_AT_MOST + 1), "identity"), (gzip.compress(bytes(4 * BYTES_AT_MOST)), "gzip")],
    ids=["plain", "packed"],
)
def test_an_answer_that_is_too_large_is_not_taken(body: bytes, encoding: str) -> None:
    whole = answering(body, headers=f"Content-Encoding: {encoding}\r\n")
    with upstream(whole) as server, pytest.raises(http.Error, match="larger than 32 MiB"):
        http.get(server.url)


def test_an_answer_never_takes_more_memory_than_two_that_are_just_small_enough() -> None:
    bomb = answering(gzip.compress(bytes(8 * BYTES_AT_MOST)), headers="Content-Encoding: gzip\r\n")
    with upstream(bomb) as server:
        tracemalloc.start()
        try:
            with pytest.raises(http.Error):
                http.get(server.url)
            assert tracemalloc.get_traced_memory()[1] < 2.5 * BYTES_AT_MOST
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", b"a"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 204 No Content\r\nContent-Encoding: gzip\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc", b"a"),
    ],
    ids=["100", "103 and 204", "204 as gzip", "more than it said"],
)
def test_an_answer_ends_where_it_says(answer: bytes, body: bytes) -> None:
    with upstream(lambda client: client.sendall(answer)) as server:
        assert http.get(server.url).content == body


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"no HTTP\r\n\r\n",
        b"HTTP/1.1 200",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
        b"HTTP/1.1 200 OK\r\nX-Long: " + b"a" * 200_000 + b"\r\n\r\n",
    ],
    ids=[
        "nothing",
        "no HTTP",
        "half a line",
        "101",
        "short",
        "two lengths",
        "-1",
        "half a chunk",
        "no last chunk",
        "header",
    ],
)
def test_an_answer_that_is_not_whole_is_an_error(answer: bytes) -> None:
    with upstream(lambda client: client.sendall(answer)) as server, pytest.raises(http.Error):
        http.get(server.url)
