"""The Caddyfile that the guide shows, in a real Caddy: what it tells the app about a client."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from socket import create_server

import pytest

CADDYFILE = Path(__file__).parents[2] / "snippets" / "deploy" / "Caddyfile"
READY = "serving initial configuration"


class Echo(BaseHTTPRequestHandler):
    """Stands where melee would: answers with the headers it was sent."""

    def do_GET(self) -> None:
        body = json.dumps({name.lower(): value for name, value in self.headers.items()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


@pytest.fixture
def app_port() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture
def caddy_port(app_port: int, tmp_path: Path) -> Iterator[int]:
    """Where Caddy listens, with the shown Caddyfile but for its addresses; over http it needs no certificate."""
    with create_server(("127.0.0.1", 0)) as listener:
        site = f"http://board.example.org {{\nbind fd/{listener.fileno()}"
        text = CADDYFILE.read_text(encoding="utf-8").replace("board.example.org {", site)
        text = "{\nadmin off\n}\n" + text.replace("127.0.0.1:8000", f"127.0.0.1:{app_port}")
        (tmp_path / "Caddyfile").write_text(text, encoding="utf-8")
        process = subprocess.Popen(
            [Path(sys.executable).parent / "caddy", "run", "--config=Caddyfile"],
            cwd=tmp_path,
            env={"HOME": str(tmp_path)},
            pass_fds=[listener.fileno()],
            stderr=subprocess.PIPE,
            text=True,
        )
        port: int = listener.getsockname()[1]
    try:
        assert process.stderr is not None, "started with a pipe"
        said = ""
        while READY not in said:
            line = process.stderr.readline()
            assert line, f"Caddy ended before it served:\n{said}"
            said += line
        yield port
    finally:
        process.terminate()
        process.communicate(timeout=60)


def headers_at_the_app(caddy_port: int, sent: dict[str, str]) -> dict[str, str]:
    connection = HTTPConnection("127.0.0.1", caddy_port, timeout=60)
    try:
        connection.request("GET", "/", headers={"Host": "board.example.org", **sent})
        received: dict[str, str] = json.load(connection.getresponse())
        return received
    finally:
        connection.close()


def test_caddy_tells_the_app_who_asked_how_and_for_which_site(caddy_port: int) -> None:
    received = headers_at_the_app(caddy_port, {})
    assert received["host"] == "board.example.org"
    assert (received["x-forwarded-for"], received["x-forwarded-proto"]) == ("127.0.0.1", "http")


def test_caddy_takes_no_word_of_a_client_about_itself(caddy_port: int) -> None:
    made_up = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "elsewhere.example"}
    received = headers_at_the_app(caddy_port, made_up)
    assert (received["x-forwarded-for"], received["x-forwarded-proto"]) == ("127.0.0.1", "http")
    assert received["x-forwarded-host"] == "board.example.org"
