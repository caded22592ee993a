"""What visitors get: real sockets in front, real request children behind, and time that is moved."""

import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from melee.project import WebConfig
from tests.melee.gate import Gate
from tests.melee.processes.forking import wait_for_end
from tests.melee.web.behind_gateway import GatewayUnderTest, behind_gateway
from tests.melee.web.serving import answer, until_closed

pytestmark = pytest.mark.slow


class CallsOfTheTest(Gate):
    """A gate whose calls end with the test, if not before."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.calls: list[socket.socket] = []

    def reached(self) -> socket.socket:
        self.calls.append(super().reached())
        return self.calls[-1]


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with CallsOfTheTest(tmp_path / "gate") as gate:
        yield gate
        for call in gate.calls:
            call.close()


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[GatewayUnderTest]:
    with behind_gateway(tmp_path, slots=1, backlog=1) as gateway:
        yield gateway


def test_a_response_carries_the_id_under_which_the_log_knows_its_request(gateway: GatewayUnderTest) -> None:
    status, headers, body = gateway.ask("/here?secret=1")
    assert (status, body) == (200, b"/here")
    [line] = gateway.logged("request")
    assert line["request"] == headers["x-request-id"]
    assert [line[name] for name in ("method", "path", "status", "bytes")] == ["GET", "/here", 200, 5]
    assert (line["client"], line["level"]) == ("127.0.0.1", "info")
    assert "secret" not in str(line)


def test_a_request_that_is_out_of_time_ends_with_all_that_it_started(gateway: GatewayUnderTest, gate: Gate) -> None:
    with gateway.begin(f"/hang?{gate.path}") as client:
        both = [gate.reached(), gate.reached()]
        gateway.server.move(29)
        assert gateway.logged("request") == []
        gateway.server.move(2)
        status, headers, body = answer(client)
    assert status == 504
    assert headers["x-request-id"].encode() in body
    # They hung up, as only the end of their processes makes them.
    assert [call.recv(1) for call in both] == [b"", b""]
    assert gateway.ask("/next")[0] == 200


@pytest.mark.parametrize(("path", "reason"), [("/die", "ended with 3"), ("/kill", "ended with -9")])
def test_a_child_that_dies_is_a_bad_gateway(gateway: GatewayUnderTest, path: str, reason: str) -> None:
    status, headers, body = gateway.ask(path)
    assert status == 502
    assert headers["x-request-id"].encode() in body
    [line] = gateway.logged("the child of a request was lost")
    assert line["reason"].endswith(reason)
    assert line["request"] == headers["x-request-id"]
    assert gateway.ask("/next")[0] == 200


def test_a_response_that_breaks_off_is_not_taken_for_whole(tmp_path: Path) -> None:
    says = ["ASGI callable returned without completing response."]
    with behind_gateway(tmp_path, says) as gateway, gateway.begin("/break") as client:
        received = until_closed(client)
    assert b"begun" in received
    assert not received.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize("requests_per_child", [1, 0])
def test_a_copy_of_a_process_does_not_answer_whichever_of_the_two_is_first(
    tmp_path: Path, requests_per_child: int
) -> None:
    with behind_gateway(tmp_path, slots=1, requests_per_child=requests_per_child) as gateway:
        for _request in range(10):
            status, _headers, copy = gateway.ask("/twice")
            assert (status, int(copy) > 0) == (200, True)
            assert gateway.ask("/next")[2] == b"/next"


def test_a_copy_of_a_process_that_stays_does_not_answer_the_next_visitor(tmp_path: Path, gate: Gate) -> None:
    with behind_gateway(tmp_path, slots=1, requests_per_child=0) as gateway:
        copy = int(gateway.ask(f"/twice?{gate.path}")[2])
        gate.reached().close()
        wait_for_end(copy)
        assert gateway.ask("/next")[2] == b"/next"


def test_a_request_beyond_the_backlog_is_told_when_to_come_back(gateway: GatewayUnderTest, gate: Gate) -> None:
    with gateway.begin(f"/hang?{gate.path}"):
        call, child_of_it = gate.reached(), gate.reached()
        with gateway.begin("/waits") as waiting:
            gateway.server.wait_for_bytes(waiting, 1)
            status, headers, _body = gateway.ask("/too-many")
            assert (status, headers["retry-after"]) == (503, "5")
            child_of_it.close()
            call.close()
            assert answer(waiting)[2] == b"/waits"


def test_a_client_that_leaves_ends_its_child(gateway: GatewayUnderTest, gate: Gate) -> None:
    with gateway.begin(f"/hang?{gate.path}"):
        both = [gate.reached(), gate.reached()]
    assert [call.recv(1) for call in both] == [b"", b""]
    assert gateway.ask("/next")[0] == 200
    assert [line["status"] for line in gateway.logged("request")] == [499, 200]


def test_a_client_that_leaves_while_it_waits_takes_up_no_child(gateway: GatewayUnderTest, gate: Gate) -> None:
    with gateway.begin(f"/hang?{gate.path}") as busy:
        both = [gate.reached(), gate.reached()]
        with gateway.begin("/die") as impatient:
            gateway.server.wait_for_bytes(impatient, 1)
            impatient.shutdown(socket.SHUT_RDWR)
            gateway.server.wait_for_end(impatient)
        with gateway.begin("/waits") as waiting:
            for call in both:
                call.close()
            assert answer(busy)[0] == 200
            assert answer(waiting)[2] == b"/waits"
    assert gateway.logged("the child of a request was lost") == []


def test_a_client_that_has_all_may_go_while_the_app_closes_its_response(gateway: GatewayUnderTest, gate: Gate) -> None:
    with gateway.begin(f"/closing?{gate.path}") as client:
        assert answer(client)[2] == b"whole"
        call = gate.reached()
        client.shutdown(socket.SHUT_RDWR)
        gateway.server.wait_for_end(client)
    call.close()
    # The one slot is free when the child has closed it.
    assert gateway.ask("/next")[0] == 200
    assert Path(f"{gate.path}.closed").exists()
    assert [line["status"] for line in gateway.logged("request")] == [200, 200]


def test_a_client_that_reads_slowly_holds_no_slot(gateway: GatewayUnderTest) -> None:
    with gateway.begin("/large") as slow:
        assert slow.recv(1) == b"H"
        gateway.server.wait_until_held_up(slow)
        assert gateway.ask("/next")[0] == 200
        assert len(until_closed_or(slow, 100 * 2**20)) >= 100 * 2**20


def test_a_large_body_reaches_the_app_whole(gateway: GatewayUnderTest) -> None:
    body = os.urandom(2**20)
    assert gateway.ask("/length", "POST", f"Content-Length: {len(body)}\r\n", body)[2] == b"1048576"


def test_a_body_for_which_the_app_left_no_descriptor_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    body = os.urandom(2**20)
    with behind_gateway(tmp_path, slots=1, requests_per_child=0) as gateway:
        assert gateway.ask("/leak")[0] == 200
        assert gateway.ask("/length", "POST", f"Content-Length: {len(body)}\r\n", body)[0] == 502
        assert gateway.ask("/length", "POST", f"Content-Length: {len(body)}\r\n", body)[2] == b"1048576"


def test_a_body_that_is_too_large_is_refused_before_it_comes(gateway: GatewayUnderTest) -> None:
    headers = f"Content-Length: {100 * 2**20}\r\nExpect: 100-continue\r\n"
    assert gateway.ask("/length", "POST", headers)[0] == 413
    assert gateway.parent.process is None


def test_a_static_file_needs_no_child(tmp_path: Path) -> None:
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "board.css").write_text("p {}")
    with behind_gateway(tmp_path) as gateway:
        status, headers, body = gateway.ask("/static/board.css")
        assert (status, body, headers["content-type"]) == (200, b"p {}", "text/css; charset=utf-8")
        assert gateway.ask("/static/board.css", headers=f"If-None-Match: {headers['etag']}\r\n")[0] == 304
        assert gateway.parent.process is None
        assert [line["status"] for line in gateway.logged("request")] == [200, 304]


def test_a_folder_of_static_files_may_come_and_go(tmp_path: Path) -> None:
    folder = tmp_path / "static"
    with behind_gateway(tmp_path) as gateway:
        assert gateway.ask("/static/board.css")[2] == b"/static/board.css"
        folder.mkdir()
        (folder / "board.css").write_text("p {}")
        assert gateway.ask("/static/board.css")[2] == b"p {}"
        folder.rename(tmp_path / "gone")
        assert gateway.ask("/static/board.css")[2] == b"/static/board.css"


@pytest.mark.parametrize("path", ["/static/none.css", "/static/../guests.py", "/static/%2e%2e/guests.py", "/static/"])
def test_what_is_no_static_file_is_up_to_the_app(tmp_path: Path, path: str) -> None:
    (tmp_path / "static").mkdir()
    with behind_gateway(tmp_path) as gateway:
        assert gateway.ask(path)[2].startswith(b"/static/")


def test_a_request_whose_parent_was_killed_is_served_by_the_next(gateway: GatewayUnderTest) -> None:
    gateway.ask("/first")
    gateway.parent.kill()
    assert gateway.ask("/second")[2] == b"/second"


def test_an_app_that_cannot_start_is_unavailable(gateway: GatewayUnderTest) -> None:
    gateway.parent.problem = "app.py:1: SyntaxError"
    status, headers, body = gateway.ask("/")
    assert (status, headers["retry-after"]) == (503, "5")
    assert b"SyntaxError" not in body
    [line] = gateway.logged("a request found no app to serve it")
    assert line["problem"] == "app.py:1: SyntaxError"
    gateway.parent.problem = ""
    assert gateway.ask("/")[0] == 200


def test_pipelined_requests_are_answered_in_their_order(gateway: GatewayUnderTest) -> None:
    request = b"GET /number-%d HTTP/1.1\r\nHost: a\r\nConnection: %s\r\n\r\n"
    with gateway.server.connect() as client:
        client.sendall(request % (1, b"keep-alive") + request % (2, b"keep-alive") + request % (3, b"close"))
        received = until_closed(client)
    assert re.findall(rb"/number-\d", received) == [b"/number-1", b"/number-2", b"/number-3"]


def test_a_head_is_answered_without_a_body(gateway: GatewayUnderTest) -> None:
    with gateway.begin("/here", "HEAD", "Connection: close\r\n") as client:
        received = until_closed(client)
    assert received.startswith(b"HTTP/1.1 200 OK\r\n")
    assert received.endswith(b"\r\n\r\n")


def test_a_change_of_slots_holds_for_those_that_wait(gateway: GatewayUnderTest, gate: Gate) -> None:
    with gateway.begin(f"/hang?{gate.path}"):
        gate.reached()
        with gateway.begin("/waits") as waiting:
            gateway.server.wait_for_bytes(waiting, 1)
            gateway.server.run(lambda: gateway.gateway.configure(WebConfig(slots=2)))
            assert answer(waiting)[2] == b"/waits"


def until_closed_or(client: socket.socket, count: int) -> bytearray:
    received = bytearray()
    while len(received) < count and (data := client.recv(2**20)):
        received += data
    return received
