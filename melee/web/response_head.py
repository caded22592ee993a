"""The head of a response as an app gives it, and what makes it none.

What is wrong in it would be noticed only in front, as a fault of the gateway.
"""

import re
from wsgiref.headers import Headers

from melee.web.exchange import Head

# RFC 9110, sections 15.3.5 and 15.4.5.
WITHOUT_BODY = {204, 304}
_FINAL = range(200, 600)
# RFC 9110, sections 5.1 and 5.5.
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def head_of(status: str, headers: Headers) -> Head:
    """The head as it is sent; raises `ValueError` for one that is none."""
    code = int(status[:3])
    if code not in _FINAL:
        raise ValueError(f"the status {status!r} is none that ends a request")
    sent = [_checked(name, value) for name, value in headers.items()]
    return Head(code, [header for header in sent if code not in WITHOUT_BODY or header[0] != b"content-length"])


def announced_bytes(headers: Headers) -> int | None:
    """How long the body is, when the headers say so; raises `ValueError` when they say it twice, or no length."""
    announced = headers.get_all("content-length")
    if not announced:
        return None
    if len(announced) > 1 or not announced[0].isdecimal():
        raise ValueError(f"'Content-Length': {', '.join(map(repr, announced))} is no length")
    return int(announced[0])


def _checked(name: str, value: str) -> tuple[bytes, bytes]:
    if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
        raise ValueError(f"{name!r}: {value!r} is no header")
    return name.lower().encode("latin-1"), value.encode("latin-1")
