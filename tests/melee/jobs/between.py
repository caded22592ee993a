"""Something between a worker and Postgres: a pooler, or a network that fails."""

import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlencode

from psycopg.conninfo import conninfo_to_dict

_NOTIFICATION = ord("A")
_HEAD = struct.Struct("!BI")


class Between:
    """Passes on what both sides say, but for notifications if it is deaf, as a pooler is that gives a listener another
    connection for each transaction.

    Args:
        folder: of the Unix socket that it listens on.
        url: of Postgres.

    Attributes:
        url: of Postgres as it is reached through this.
    """

    def __init__(self, folder: Path, url: str, *, is_deaf: bool = False) -> None:
        self._to = {name: str(value) for name, value in conninfo_to_dict(url).items()}
        self.url = "postgresql:///?" + urlencode(self._to | {"host": str(folder), "port": "5432"})
        self._path, self._is_deaf = folder / ".s.PGSQL.5432", is_deaf
        self._listener: socket.socket | None = None
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.cut()
        for thread in self._threads:
            thread.join(30)

    def open(self) -> None:
        """Lets connections through."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._path))
        self._listener.listen()
        self._start(self._accept, self._listener)

    def cut(self) -> None:
        """Ends all connections, and lets no new ones through."""
        if self._listener:
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._path.unlink()
            self._listener = None
        for pair in self._pairs:
            for end in pair:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    def _accept(self, listener: socket.socket) -> None:
        with listener:
            while True:
                try:
                    client = listener.accept()[0]
                except OSError:
                    return
                server = self._connect()
                self._pairs.append((client, server))
                self._start(self._pass_on, client, server)
                self._start(self._pass_back, server, client)

    def _connect(self) -> socket.socket:
        host, port = self._to["host"], self._to.get("port", "5432")
        if not host.startswith("/"):
            return socket.create_connection((host, int(port)))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{host}/.s.PGSQL.{port}")
        return server

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        with client, suppress(OSError):
            while said := client.recv(65536):
                server.sendall(said)
            server.shutdown(socket.SHUT_RDWR)

    def _pass_back(self, server: socket.socket, client: socket.socket) -> None:
        with server, suppress(OSError):
            said = b""
            while more := server.recv(65536):
                said += more
                while len(said) >= _HEAD.size and len(said) > (length := _HEAD.unpack_from(said)[1]):
                    message, said = said[: length + 1], said[length + 1 :]
                    if not (self._is_deaf and message[0] == _NOTIFICATION):
                        client.sendall(message)
            client.shutdown(socket.SHUT_RDWR)

    def _start(self, work: object, *arguments: socket.socket) -> None:
        thread = threading.Thread(target=work, args=arguments)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()
