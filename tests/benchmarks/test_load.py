"""The clients of a benchmark count what is right, and stop at what is not."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from benchmarks.load import REQUEST, WrongAnswer, load

PAGE = b"<h1>Guests</h1>"


def answer(body: bytes, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@contextmanager
def server_that_sends(*answers: bytes) -> Iterator[int]:
    """Takes one connection for each answer, in their order; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)

        def serve() -> None:
            for sent in answers:
                client, _address = listener.accept()
                with client:
                    assert client.recv(len(REQUEST), socket.MSG_WAITALL) == REQUEST
                    client.sendall(sent)

        serving = Thread(target=serve)
        serving.start()
        yield listener.getsockname()[1]
        serving.join()


def test_every_client_is_answered_although_the_time_is_up() -> None:
    with server_that_sends(*[answer(PAGE + b"\n1")] * 3) as port:
        seen = load(port, clients=3, seconds=1e-9, page=PAGE)
    assert (seen.requests, seen.most_of_a_process) == (3, 1)
    assert 0 < seen.median_seconds <= seen.seconds


def test_a_process_that_answers_twice_is_seen() -> None:
    with server_that_sends(answer(PAGE + b"\n1"), answer(PAGE + b"\n2")) as port:
        assert load(port, clients=2, seconds=1e-9, page=PAGE).most_of_a_process == 2


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (answer(b"another page\n1"), "200 with b'another page"),
        (answer(PAGE), "200 with"),
        (answer(PAGE + b"\n1", "503 Service Unavailable"), "503 with"),
        (answer(PAGE + b"\n1")[:-5], "the connection ended after"),
    ],
)
def test_a_wrong_answer_ends_the_run(sent: bytes, said: str) -> None:
    with server_that_sends(sent) as port, pytest.raises(WrongAnswer, match=said):
        load(port, clients=1, seconds=1e-9, page=PAGE)
