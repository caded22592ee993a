"""Keys and values in an object's storage."""

from melee import Durable, now


class Door(Durable):
    # --8<-- [start:storage]
    def knock(self) -> None:
        self.storage.put("last_seen", now().isoformat())

    def last_seen(self) -> str:
        return str(self.storage.get("last_seen", "never"))
        # --8<-- [end:storage]
