"""What goes through the worker's socket: frames of a 4-byte big-endian length and JSON.

A connection carries one request at a time: the caller sends the next when it has the answer.
"""

import struct
from typing import Any

import msgspec

from melee import shape
from melee.errors import OutcomeUnknown, from_values
from melee.objects.commit import Outcome
from melee.objects.request import CHAIN_AT_MOST, ID_CHARACTERS_AT_MOST, Request, ref_of

HEADER = struct.Struct(">I")
# An id takes at most six bytes a character; the rest is for the names of a class and a method.
_NAME_BYTES = 8 * ID_CHARACTERS_AT_MOST
# The largest value, and the names of an object and of those that wait for it.
FRAME_AT_MOST = shape.BYTES_AT_MOST + (1 + CHAIN_AT_MOST) * _NAME_BYTES


class Returned(msgspec.Struct, array_like=True, tag="returned", frozen=True):
    """The request ended; `value` is its answer."""

    value: msgspec.Raw


class Failed(msgspec.Struct, array_like=True, tag="failed", frozen=True):
    """The request did not end: the name of one of `melee.errors`, and its fields."""

    error: str
    values: dict[str, Any]


_encoder = msgspec.json.Encoder()
_requests = msgspec.json.Decoder(Request)
_replies = msgspec.json.Decoder(Returned | Failed)


class NotAFrame(Exception):
    """What arrived is no frame of this protocol; the connection cannot go on."""


def request_frame(request: Request) -> bytes:
    return _framed(_encoder.encode(request))


def reply_frame(outcome: Outcome) -> bytes:
    if isinstance(outcome, bytes):
        return _framed(b'["returned",' + outcome + b"]")
    return _framed(_encoder.encode(Failed(type(outcome).__name__, outcome.values())))


def read_request(payload: bytes | memoryview) -> Request:
    """Raises `NotAFrame` when the payload is no request."""
    try:
        request: Request = _requests.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise NotAFrame(str(error)) from error
    return request


def read_reply(payload: bytes | memoryview, request: Request) -> Outcome:
    """The outcome in a reply; an error this version does not know is an `OutcomeUnknown`."""
    reply = _replies.decode(payload)
    if isinstance(reply, Returned):
        return bytes(reply.value)
    try:
        return from_values(reply.error, reply.values)
    except (LookupError, TypeError):
        return OutcomeUnknown(str(ref_of(request)), request.method, f"the worker says {reply.error}")


def payload_length(received: bytes | bytearray) -> int:
    """The length that the header at the beginning announces; `NotAFrame` when it is more than a frame can have."""
    length: int = HEADER.unpack_from(received)[0]
    if length > FRAME_AT_MOST:
        raise NotAFrame(f"a frame of {length:,} bytes; at most {FRAME_AT_MOST:,}")
    return length


def _framed(payload: bytes) -> bytes:
    return HEADER.pack(len(payload)) + payload
