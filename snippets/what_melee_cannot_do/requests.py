"""What a request may be, and how long it may take."""

from melee.project import WebConfig
from melee.web import gateway, limits, slow_readers
from melee.web.body import BODY_BYTES_AT_MOST
from melee.web.scratch import SCRATCH_BYTES_AT_MOST
from snippets.what_melee_cannot_do.units import seconds, size

WEB = WebConfig()
RATE = f"no less than {size(limits.BODY_BYTES_PER_SECOND)} a second"
FIRST = seconds(limits.BODY_AVERAGE_AFTER_SECONDS)
UNREAD = seconds(slow_readers.SEND_SECONDS)
SCRATCH = size(SCRATCH_BYTES_AT_MOST)

LIMITS = [
    ("its address", size(limits.URL_BYTES_AT_MOST), "414"),
    ("its headers", size(limits.HEADER_BYTES_AT_MOST), "431"),
    ("until its headers are there", seconds(limits.HEADER_SECONDS), "408"),
    ("its body", size(BODY_BYTES_AT_MOST), "413"),
    ("a pause in its body", seconds(limits.BODY_SECONDS), "408"),
    (f"its body, on average after {FIRST}", RATE, "408"),
    ("requests served at once: `[web] slots`", str(WEB.slots), "others wait"),
    ("requests that wait: `[web] backlog`", str(WEB.backlog), "503"),
    ("until its app has started", seconds(gateway.START_SECONDS), "503"),
    ("its time: `[web] budget_seconds`", seconds(WEB.budget_seconds), "504"),
    ("a client takes nothing of the response", UNREAD, "cut off"),
    ("temporary files of all requests", SCRATCH, "503, or cut off"),
    ("requests sent ahead", str(limits.PIPELINED_AT_MOST), "not answered"),
    ("connections", f"{limits.CONNECTIONS_AT_MOST:,}", "503"),
]
