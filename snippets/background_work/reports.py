"""Several schedules: an object for each, since an object has one timer."""

from melee import Durable

HOURS = {"hourly": 1, "daily": 24, "weekly": 7 * 24}


# --8<-- [start:reports]
class Report(Durable):
    def setup(self) -> None:
        self.timer(after=HOURS[self.id] * 3600)

    def on_timer(self) -> None:
        self.storage.put("written", self.written() + 1)
        self.timer(after=HOURS[self.id] * 3600)

    def written(self) -> int:
        return int(self.storage.get("written", 0))


def written_reports() -> dict[str, int]:
    """The first call of each object makes it, and so begins its schedule."""
    return {period: Report.get(period).written() for period in HOURS}
    # --8<-- [end:reports]
