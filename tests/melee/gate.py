"""Where code in another process says that it has come this far, and waits until the test lets it go on."""

import socket
from pathlib import Path
from types import TracebackType
from typing import Self

WAIT_AT = '''
import socket

def wait_at(gate):
    """Says that it is here by calling the test, and goes on when that hangs up."""
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(gate)
        caller.recv(1)
'''
"""The other process's side, in the source of what it runs."""


class Gate:
    """A Unix socket. What comes to it calls, and waits until the test hangs up.

    Attributes:
        path: of the socket.
    """

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self._listener = socket.socket(socket.AF_UNIX)

    def __enter__(self) -> Self:
        self._listener.settimeout(30)
        self._listener.bind(self.path)
        self._listener.listen()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._listener.close()

    def reached(self) -> socket.socket:
        """Returns when something is there; it goes on when the returned connection is closed."""
        return self._listener.accept()[0]
