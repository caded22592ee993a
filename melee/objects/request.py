"""What can be asked of the owner of durable objects, and who the owner is in this process."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import msgspec

from melee import shape
from melee.errors import NoOwner, ShapeError

ID_CHARACTERS_AT_MOST = 1024
CALL_SECONDS = 30
"""How long a caller waits, for an answer or for its turn."""
CHAIN_AT_MOST = 100
"""How many objects may wait for each other over workers; each keeps a thread."""


class ObjectRef(NamedTuple):
    """One object: the name of its class and its id. Printed as `Stats/visits`."""

    class_name: str
    id: str

    def __str__(self) -> str:
        return f"{self.class_name}/{self.id}"


class Call(msgspec.Struct, array_like=True, tag="call", frozen=True):
    """Run a method; `arguments` is a JSON list. Answered by what the method returned.

    `chain` names the objects that wait for it, the first caller first, when an object of another worker asks. `request`
    is the id of the request for which it runs, if it does.
    """

    class_name: str
    id: str
    method: str
    arguments: msgspec.Raw
    chain: tuple[str, ...] = ()
    request: str = ""


class Destroy(msgspec.Struct, array_like=True, tag="destroy", frozen=True):
    """End an object; answered by whether there was one. `chain` is as with a call."""

    class_name: str
    id: str
    chain: tuple[str, ...] = ()
    method = "destroy"


class ListIds(msgspec.Struct, array_like=True, tag="list", frozen=True):
    """The ids of a class in order."""

    class_name: str
    id = "*"
    method = "list"


class Count(msgspec.Struct, array_like=True, tag="count", frozen=True):
    """How many objects of a class exist."""

    class_name: str
    id = "*"
    method = "count"


Request = Call | Destroy | ListIds | Count


def ref_of(request: Request) -> ObjectRef:
    """What a request is about; the id is `*` for all objects of a class."""
    return ObjectRef(request.class_name, request.id)


class Owner(Protocol):
    """Who owns the objects, as seen from here: the host itself, or a client of the process where it runs."""

    def ask(self, request: Request) -> bytes | msgspec.Raw:
        """The JSON text of the answer; raises one of `melee.errors`, by what became of the request."""


_owners: list[Owner] = []


@contextmanager
def owned_by(owner: Owner) -> Iterator[None]:
    """Inside, the handles of this whole process send their calls to `owner`."""
    _owners.append(owner)
    try:
        yield
    finally:
        _owners.remove(owner)


def owner() -> Owner | None:
    """Who owns the objects of this process's app; None when it belongs to no running one."""
    return _owners[-1] if _owners else None


def ask(request: Request) -> bytes | msgspec.Raw:
    """Sends a request to the owner; `NoOwner` when this process belongs to no running app."""
    if not _owners:
        raise NoOwner(f"{ref_of(request)}.{request.method}")
    return _owners[-1].ask(request)


def check_id(class_name: str, id: object) -> str:
    """The id, if it is one: any text from 1 to 1,024 characters."""
    where = f"{class_name} id"
    text = shape.check_text(id, where)
    if not 1 <= len(text) <= ID_CHARACTERS_AT_MOST:
        raise ShapeError(where, f"{len(text):,} characters; it must have 1 to {ID_CHARACTERS_AT_MOST:,}")
    return text


def underscored(class_name: str) -> str:
    """`BoardStats` → `board_stats`, the name of a class in paths."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", class_name).lower()
