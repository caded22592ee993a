"""What an object may be asked, and by how many."""

from melee.objects import connection, listener, request
from melee.project import ObjectsConfig
from melee.shape import BYTES_AT_MOST, DEPTH_AT_MOST
from snippets.what_melee_cannot_do.units import seconds, size

OBJECTS = ObjectsConfig()
ID = f"{request.ID_CHARACTERS_AT_MOST:,} characters"
HELD = size(connection.HELD_BYTES_AT_MOST)
IDLE, OPEN = seconds(OBJECTS.idle_seconds), str(OBJECTS.open_at_most)

LIMITS = [
    ("an id", ID, "`ShapeError`"),
    ("arguments, or a result", size(BYTES_AT_MOST), "`ShapeError`"),
    ("lists and dicts in each other", str(DEPTH_AT_MOST), "`ShapeError`"),
    ("calls at once: `[objects] workers`", str(OBJECTS.workers), "others wait"),
    ("a caller waits", seconds(request.CALL_SECONDS), "`CallTimeout`"),
    ("callers at once", f"{listener.CALLERS_AT_MOST:,}", "`Overloaded`"),
    ("what they send and have not read", HELD, "`Overloaded`"),
    ("uncalled in memory: `[objects] idle_seconds`", IDLE, "unloaded"),
    ("objects open at once: `[objects] open_at_most`", OPEN, "one is unloaded"),
]
