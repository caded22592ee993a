"""What the gateway and a request child say to each other: one request, and its response in parts as they come.

The gateway sends the request whole: a length and its fields, and with it the descriptor of a file when the body is
large. The child answers with frames: the head, parts of the body, the end. A connection that closes before the end is
a child that died.
"""

import struct
from enum import IntEnum
from typing import Annotated

import msgspec

FRAME_BYTES_AT_MOST = 1024 * 1024
"""A child writes parts of 64 KiB, and a head that browsers read has less."""
REQUEST_HEADER = struct.Struct(">I")
FRAME_HEADER = struct.Struct(">BI")

Headers = list[tuple[bytes, bytes]]


class Request(msgspec.Struct, array_like=True, frozen=True):
    """A request as it came; names of headers are in lower case. `client` and `server` are an address and a port.

    `body_bytes` says how long the body is: it is `body`, or in a file whose descriptor comes along.
    """

    id: str
    method: str
    path: bytes
    query: bytes
    http_version: str
    scheme: str
    client: tuple[str, int]
    server: tuple[str, int]
    headers: Headers
    body_bytes: int
    body: bytes


class Head(msgspec.Struct, array_like=True, frozen=True):
    """The beginning of a response."""

    status: Annotated[int, msgspec.Meta(ge=200, lt=600)]
    headers: Headers


class NotAResponse(Exception):
    """What a child sent is no response: the app wrote into the connection by itself."""


class Kind(IntEnum):
    """What a frame of a response is. After `LAST_END` the child ends, after `END` it takes the next request."""

    HEAD = 1
    BODY = 2
    END = 3
    LAST_END = 4


_KINDS = set(Kind)
_encoder = msgspec.msgpack.Encoder()
_requests = msgspec.msgpack.Decoder(Request)
_heads = msgspec.msgpack.Decoder(Head)


def request_message(request: Request) -> bytes:
    encoded = _encoder.encode(request)
    return REQUEST_HEADER.pack(len(encoded)) + encoded


def read_request(encoded: bytes) -> Request:
    request: Request = _requests.decode(encoded)
    return request


def frame(kind: Kind, payload: bytes = b"") -> bytes:
    return FRAME_HEADER.pack(kind, len(payload)) + payload


def head_frame(head: Head) -> bytes:
    return frame(Kind.HEAD, _encoder.encode(head))


def read_head(payload: bytes) -> Head:
    """Raises `NotAResponse`."""
    try:
        head: Head = _heads.decode(payload)
    except msgspec.MsgspecError as error:
        raise NotAResponse(f"a head that is none: {error}") from error
    return head


class FrameReader:
    """Takes frames from bytes as they arrive."""

    def __init__(self) -> None:
        self._received = bytearray()

    def feed(self, received: bytes) -> list[tuple[Kind, bytes]]:
        """The frames that are complete now; raises `NotAResponse`."""
        self._received += received
        frames = []
        begin, length = 0, FRAME_HEADER.size
        while len(self._received) - begin >= length:
            kind, payload_length = FRAME_HEADER.unpack_from(self._received, begin)
            if kind not in _KINDS:
                raise NotAResponse(f"a frame of kind {kind}")
            if payload_length > FRAME_BYTES_AT_MOST:
                raise NotAResponse(f"a frame of {payload_length} bytes")
            end = begin + length + payload_length
            if len(self._received) < end:
                break
            frames.append((Kind(kind), bytes(self._received[begin + length : end])))
            begin = end
        del self._received[:begin]
        return frames
