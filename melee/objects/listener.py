"""Where callers come in: a listening Unix socket, and the refusal of those for whom there is no room."""

import contextlib
import errno
import resource
import socket
from pathlib import Path

from melee.errors import Overloaded
from melee.objects.connection import CallerConnection, Held

CALLERS_AT_MOST = 1000
_DESCRIPTORS_WANTED = 8192
_NO_DESCRIPTOR_LEFT = {errno.EMFILE, errno.ENFILE}


def listen(path: Path) -> socket.socket:
    """A socket that listens on `path`, in place of one that an earlier process left there.

    Callers that nobody has accepted yet wait in its queue, so whoever keeps it open can change the process that serves
    it, and no caller is refused meanwhile.
    """
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    path.chmod(0o600)
    listening.listen(CALLERS_AT_MOST)
    return listening


class Listener:
    """Accepts callers from a listening socket, `callers_at_most` at a time."""

    def __init__(self, listening: socket.socket, callers_at_most: int) -> None:
        allow_many_descriptors()
        listening.setblocking(False)
        self._socket, self._callers_at_most = listening, callers_at_most
        self._spare = socket.socket(socket.AF_UNIX)
        self._held = Held()
        self._callers = 0

    def fileno(self) -> int:
        return self._socket.fileno()

    def accept(self) -> list[CallerConnection]:
        """Those who came since; each is to be given to `let_go` when it has gone. The others are told that there is no
        room."""
        accepted = []
        try:
            while True:
                caller, _address = self._socket.accept()
                connection = CallerConnection(caller, self._held)
                if self._callers >= self._callers_at_most:
                    self._turn_away(connection)
                    continue
                self._callers += 1
                accepted.append(connection)
        except BlockingIOError:
            pass
        except OSError as error:
            if error.errno not in _NO_DESCRIPTOR_LEFT:
                raise
            self._turn_away_on_the_spare()
        return accepted

    def let_go(self, connection: CallerConnection) -> None:
        self._callers -= 1
        connection.close()

    def close(self) -> None:
        self._socket.close()
        self._spare.close()

    def _turn_away_on_the_spare(self) -> None:
        """Gives a caller its refusal although no descriptor is left: the one that is kept for this serves it."""
        self._spare.close()
        # Another process may have taken it meanwhile; the caller waits for the next turn then.
        with contextlib.suppress(OSError):
            caller, _address = self._socket.accept()
            self._turn_away(CallerConnection(caller, self._held))
        with contextlib.suppress(OSError):
            self._spare = socket.socket(socket.AF_UNIX)

    def _turn_away(self, connection: CallerConnection) -> None:
        connection.reply(Overloaded("*", "*", f"{self._callers} callers are waiting already"))
        connection.close()


def allow_many_descriptors() -> None:
    """An open object takes three descriptors, a caller one; the usual soft limit of 1,024 is too low for both."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS_WANTED if hard == resource.RLIM_INFINITY else min(_DESCRIPTORS_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
