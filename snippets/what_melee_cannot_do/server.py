"""How long the server waits for what."""

from melee.processes.supervisor import PAUSE_SECONDS_AT_MOST
from melee.project import ServerConfig
from melee.server.living import LOAD_SECONDS_AT_MOST
from snippets.what_melee_cannot_do.units import seconds

SERVER = ServerConfig()
SLEEP, GRACE = seconds(SERVER.sleep_after_seconds), seconds(SERVER.grace_seconds)
PAUSE, LOAD = seconds(PAUSE_SECONDS_AT_MOST), seconds(LOAD_SECONDS_AT_MOST)

LIMITS = [
    ("until the app is imported, at the start or anew", LOAD, "given up"),
    ("without a request: `[server] sleep_after_seconds`", SLEEP, "the app sleeps"),
    ("its end: `[server] grace_seconds`", GRACE, "what still runs is cut off"),
    ("a pause when a process cannot start", PAUSE, "tried again"),
]
