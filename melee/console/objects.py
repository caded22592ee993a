"""The durable objects of an app as the page shows them, read from their files as `melee objects` does it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from melee.console.moments import Moment, Now
from melee.console.text import Text, text
from melee.objects.files import every_file
from melee.objects.host import Host
from melee.objects.inspection import Seen, Unreadable, look_at

OBJECTS_AT_MOST = 200
TURN_SECONDS = 0.3
"""How long the page waits for a call that runs."""


@dataclass(frozen=True)
class ShownObject:
    """One object.

    Attributes:
        key: tells it from others on the page.
        state: of its timer: `no timer`, `waits`, `overdue`, `failed`; or `unreadable`.
        due: when its timer fires next.
        error: the last one of its timer, or what keeps its file from being read; `failed` is when that was.
    """

    key: str
    class_name: Text
    id: Text
    state: str
    due: Moment | None
    error: Text | None
    failed: Moment | None


@dataclass(frozen=True)
class ObjectsSeen:
    """What was seen when; `is_old` when the page could not look again, `has_more` when it looked at a part."""

    objects: list[ShownObject]
    seen: Moment
    is_old: bool
    has_more: bool


class ObjectsLook:
    """Looks at objects. What was seen last is kept for when nobody can look, since a call is running."""

    def __init__(self) -> None:
        self._last: tuple[float, list[Seen | Unreadable], bool] | None = None

    def at(self, host: Host, now: Now) -> ObjectsSeen | None:
        """The objects of a host; None when it could not be looked at yet."""
        files = list(islice(every_file(host.folder), OBJECTS_AT_MOST + 1))
        found = _look_in_turn(host, files[:OBJECTS_AT_MOST])
        if found is not None:
            self._last = now.seconds, found, len(files) > OBJECTS_AT_MOST
        if self._last is None:
            return None
        seen_at, kept, has_more = self._last
        shown = [_shown(one, now) for one in sorted(kept, key=_order)]
        return ObjectsSeen(shown, now.moment(seen_at), found is None, has_more)


def _look_in_turn(host: Host, files: Iterable[Path]) -> list[Seen | Unreadable] | None:
    """What the files hold; None when a call does not end in time. Nobody loads, commits or unloads an object while its
    file is looked at, and calls have their turn between two files."""
    found = []
    for file in files:
        if not host.turn.take(TURN_SECONDS):
            return None
        try:
            one = look_at(file)
        finally:
            host.turn.end()
        if one:
            found.append(one)
    return found


def _order(one: Seen | Unreadable) -> tuple[bool, float, str, str]:
    """Those that something is wrong with first, then the next timer, then by name."""
    if isinstance(one, Unreadable):
        return False, 0, "", str(one.file)
    due_at = math.inf if one.state.due_at is None else one.state.due_at
    return not one.state.timer_error, due_at, *one.state.ref


def _shown(one: Seen | Unreadable, now: Now) -> ShownObject:
    folder, key = one.file.parts[-3], f"{one.file.parts[-3]}-{one.file.stem}"
    if isinstance(one, Unreadable):
        return ShownObject(key, text(folder), text(one.file.name), "unreadable", None, text(one.problem), None)
    state = one.state
    return ShownObject(
        key=key,
        class_name=text(state.ref.class_name),
        id=text(state.ref.id),
        state=_state(state.due_at, bool(state.timer_error), now),
        due=None if state.due_at is None else now.moment(state.due_at),
        error=text(state.timer_error) if state.timer_error else None,
        failed=None if state.timer_error_at is None else now.moment(state.timer_error_at),
    )


def _state(due_at: float | None, has_failed: bool, now: Now) -> str:
    if due_at is not None:
        return "waits" if due_at > now.seconds else "overdue"
    return "failed" if has_failed else "no timer"
