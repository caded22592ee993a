"""The socket that a command listens on for visitors, and how it is called."""

import os
import socket

from melee.errors import BadInput


def listen(host: str, port: int) -> socket.socket:
    """Raises `BadInput` when the address is taken, or none of this machine's."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise BadInput(f"cannot listen on {host} port {port}: {reason}; choose another --host or --port") from error


def url_of(host: str, listener: socket.socket) -> str:
    port = listener.getsockname()[1]
    if host == "0.0.0.0":
        return f"http://localhost:{port}/ and every other IPv4 address of this machine"
    if host == "::":
        # Not localhost, which is also the name of an address of the other kind.
        return f"http://[::1]:{port}/ and every other IPv6 address of this machine"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
