"""A timer that goes on whatever happens: it is set again before the work."""

import os

from melee import Durable, http, now


class Watch(Durable):
    # --8<-- [start:first]
    def on_timer(self) -> None:
        self.timer(after=300)
        http.get(os.environ["WATCHED_URL"], timeout=5).raise_for_status()
        self.storage.put("last_seen_at", now().isoformat())
        # --8<-- [end:first]

    def start(self) -> None:
        self.timer(after=0)

    def last_seen_at(self) -> str | None:
        moment: str | None = self.storage.get("last_seen_at")
        return moment
