"""`SlowReader`: a client that does not take what was sent to it."""

import asyncio
import fcntl
import socket
import struct
import termios

SEND_SECONDS = 60
_LOOKS = 12
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class SlowReader:
    """Cuts off a client that has taken nothing for 60 s of what waits for it.

    One that takes a little is left alone: it costs a place on the disk, no process.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._next_look: asyncio.TimerHandle | None = None
        self._waiting_bytes, self._looks_in_vain = 0, 0

    def watch(self) -> None:
        """Something waits for the client."""
        self._waiting_bytes, self._looks_in_vain = self._count_waiting_bytes(), 0
        self._look_later()

    def let_be(self) -> None:
        """The client has taken all, or gone."""
        if self._next_look:
            self._next_look.cancel()

    def _look_later(self) -> None:
        self._next_look = self._loop.call_later(SEND_SECONDS / _LOOKS, self._look)

    def _look(self) -> None:
        before, self._waiting_bytes = self._waiting_bytes, self._count_waiting_bytes()
        self._looks_in_vain = 0 if self._waiting_bytes < before else self._looks_in_vain + 1
        if self._looks_in_vain < _LOOKS:
            self._look_later()
        else:
            # Without this the kernel would go on offering what it holds.
            self._socket().setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            self._transport.abort()

    def _count_waiting_bytes(self) -> int:
        """What the client has not taken, in this process and in the kernel, which holds megabytes of it and asks for
        more only when a third is gone: to a client that reads slowly that can take minutes."""
        kept_by_kernel = fcntl.ioctl(self._socket(), termios.TIOCOUTQ, bytes(4))
        return self._transport.get_write_buffer_size() + int.from_bytes(kept_by_kernel, "little")

    def _socket(self) -> socket.socket:
        transport_socket: socket.socket = self._transport.get_extra_info("socket")
        return transport_socket
