"""A timer that is set, moved, cleared, and set again by itself."""

from melee import Durable, now


class Reminder(Durable):
    # --8<-- [start:set]
    def remind_in(self, seconds: float) -> None:
        self.timer(after=seconds)

    def remind_at(self, epoch_seconds: float) -> None:
        self.timer(at=epoch_seconds)

    def never_mind(self) -> None:
        self.cancel_timer()
        # --8<-- [end:set]

    # --8<-- [start:on_timer]
    def on_timer(self) -> None:
        self.storage.put("reminded_at", now().isoformat())
        # --8<-- [end:on_timer]

    def reminded_at(self) -> str | None:
        moment: str | None = self.storage.get("reminded_at")
        return moment
