"""The feed as it was when it could last be read."""

import os
from typing import Annotated, Any

import msgspec
from melee import Durable, http, now

FEED_URL = os.environ.get("FEED_URL", "http://127.0.0.1:8100/feed.json")
EVERY_SECONDS = 600
TIMEOUT_SECONDS = 10
ITEMS_KEPT = 20


# --8<-- [start:shape]
# Others wrote it, and it is shown on our page.
Title = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
Link = Annotated[str, msgspec.Meta(pattern="^https?://", max_length=2000)]


class Item(msgspec.Struct):
    url: Link
    title: Title


class Feed(msgspec.Struct):
    title: Title
    items: list[Item]
    # --8<-- [end:shape]


# --8<-- [start:class]
# --8<-- [start:schedule]
class Refresher(Durable):
    # --8<-- [start:setup]
    def setup(self) -> None:
        self.timer(after=0)
        # --8<-- [end:setup]

    # --8<-- [start:on_timer]
    def on_timer(self) -> None:
        self._refresh()
        self.timer(after=EVERY_SECONDS)
        # --8<-- [end:on_timer]
        # --8<-- [end:schedule]

    # --8<-- [start:refresh]
    def _refresh(self) -> None:
        try:
            answer = http.get(FEED_URL, timeout=TIMEOUT_SECONDS)
            feed = msgspec.convert(answer.raise_for_status().json(), Feed)
        except (http.Error, msgspec.ValidationError) as error:
            self.log.warning("the feed was not refreshed", error=str(error))
            return
        feed.items = feed.items[:ITEMS_KEPT]
        self.storage.put("feed", msgspec.to_builtins(feed))
        self.storage.put("refreshed_at", now().isoformat())
        # --8<-- [end:refresh]

    # --8<-- [start:latest]
    def latest(self) -> dict[str, Any] | None:
        """`feed`, with a title and items, and the moment `refreshed_at`; None before
        the first."""
        feed = self.storage.get("feed")
        if feed is None:
            return None
        return {"feed": feed, "refreshed_at": self.storage.get("refreshed_at")}
        # --8<-- [end:latest]
        # --8<-- [end:class]
