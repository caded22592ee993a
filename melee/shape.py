"""What may cross a process boundary, and how: JSON-shaped values, encoded by one encoder.

The same encoder copies values when caller and object share a process, or a test would pass what production refuses.
"""

import math
from typing import Any

import msgspec

from melee.errors import ShapeError

DEPTH_AT_MOST = 100
BYTES_AT_MOST = 32 * 1024 * 1024
INSTEAD = {
    "datetime": "pass an ISO string or a number",
    "date": "pass an ISO string",
    "time": "pass an ISO string",
    "timedelta": "pass value.total_seconds()",
    "tuple": "pass a list",
    "set": "pass a list",
    "frozenset": "pass a list",
    "bytes": "pass text, or base64 of it",
    "bytearray": "pass text, or base64 of it",
    "Decimal": "pass str(value)",
    "Path": "pass str(value)",
    "PosixPath": "pass str(value)",
    "UUID": "pass str(value)",
}
"""What to pass in place of a value that may not cross, by the name of its type."""

_INT_AT_LEAST, _INT_AT_MOST = -(2**63), 2**63 - 1

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()


def encode(value: Any, where: str) -> bytes:
    """JSON text of a value made of str, int (64 bits), float (finite), bool, None, lists, and dicts with str keys.

    Args:
        where: how an error message names the value, such as `Stats.hit argument 1`.

    Raises:
        ShapeError: anything else, deeper than 100 levels, or more than 32 MiB encoded. Names the path to it.
    """
    _check(value, where, (), 0)
    encoded = _encoder.encode(value)
    check_size(encoded, where)
    return encoded


def check_size(encoded: bytes, where: str) -> None:
    """Refuses JSON text of more than 32 MiB with a `ShapeError`."""
    if len(encoded) > BYTES_AT_MOST:
        raise ShapeError(where, f"{len(encoded):,} bytes encoded; at most {BYTES_AT_MOST:,} may cross at once")


def decode(encoded: bytes | msgspec.Raw) -> Any:
    return _decoder.decode(encoded)


def check_text(value: Any, where: str) -> str:
    """The value, if it is plain text that UTF-8 can encode; else a `ShapeError`."""
    if type(value) is not str:
        raise ShapeError(where, f"{type(value).__name__} is not str; pass text such as str(value)")
    _check(value, where, (), 0)
    return value


def _check(value: Any, where: str, path: tuple[str | int, ...], depth: int) -> None:
    kind = type(value)
    if kind is str:
        if not value.isascii():
            _check_characters(value, where, path)
    elif kind is int:
        if not _INT_AT_LEAST <= value <= _INT_AT_MOST:
            size = f"an int of {value.bit_length()} bits"
            raise _refused(where, path, f"{size} is beyond -2**63 to 2**63 - 1; pass it as a string")
    elif kind is float:
        if not math.isfinite(value):
            raise _refused(where, path, f"{value} is not a number JSON knows; pass None or a string")
    elif kind is list or kind is dict:
        if depth == DEPTH_AT_MOST:
            raise _refused(where, path[:3], f"more than {DEPTH_AT_MOST} levels deep; pass something flatter")
        _check_inside(value, where, path, depth + 1)
    elif value is not None and kind is not bool:
        raise _refused(where, path, f"{kind.__name__} is not JSON-shaped; {_instead(value)}")


def _check_inside(value: Any, where: str, path: tuple[str | int, ...], depth: int) -> None:
    if type(value) is list:
        for index, item in enumerate(value):
            _check(item, where, (*path, index), depth)
        return
    for key, item in value.items():
        if type(key) is not str:
            raise _refused(where, path, f"the dict key {key!r} is of type {type(key).__name__}; keys must be str")
        _check(key, where, path, depth)
        _check(item, where, (*path, key), depth)


def _check_characters(text: str, where: str, path: tuple[str | int, ...]) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        problem = f"the text has a lone surrogate at {error.start}; decode it as UTF-8 first"
        raise _refused(where, path, problem) from None


def _refused(where: str, path: tuple[str | int, ...], problem: str) -> ShapeError:
    inside = "".join(f'["{step}"]' if isinstance(step, str) else f"[{step}]" for step in path)
    return ShapeError(f"{where}, {inside}" if inside else where, problem)


def _instead(value: Any) -> str:
    """What to pass in its place, by the name of the type, so that nothing has to be imported to know it."""
    for base in (str, int, float, list, dict):
        if isinstance(value, base):
            return f"pass a plain {base.__name__}"
    return INSTEAD.get(type(value).__name__, "pass str, int, float, bool, None, lists, and dicts with str keys")
