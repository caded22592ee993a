"""The looks at the board, day by day."""

from datetime import datetime, time, timedelta

from melee import Durable, now

KEPT_DAYS = 30


# --8<-- [start:class]
class Stats(Durable):
    # --8<-- [start:timer]
    # --8<-- [start:setup]
    def setup(self) -> None:
        self.timer(at=next_midnight())
        # --8<-- [end:setup]

    # --8<-- [start:on_timer]
    def on_timer(self) -> None:
        oldest = now().date() - timedelta(days=KEPT_DAYS)
        self.storage.run("DELETE FROM days WHERE on_date < ?", oldest.isoformat())
        self.timer(at=next_midnight())
        # --8<-- [end:on_timer]
        # --8<-- [end:timer]

    # --8<-- [start:hit]
    def hit(self) -> None:
        self.storage.run(
            "INSERT INTO days (on_date, views) VALUES (?, 1) "
            "ON CONFLICT (on_date) DO UPDATE SET views = views + 1",
            todays_date(),
        )
        # --8<-- [end:hit]

    # --8<-- [start:today]
    def today(self) -> int:
        day = self.storage.first(
            "SELECT views FROM days WHERE on_date = ?", todays_date()
        )
        if day is None:
            return 0
        return int(day["views"])
        # --8<-- [end:today]
        # --8<-- [end:class]


# --8<-- [start:helpers]
def todays_date() -> str:
    return now().date().isoformat()


def next_midnight() -> datetime:
    """The first moment of tomorrow; 01:00 where clocks go forward at midnight."""
    here = now()
    tomorrow = here.date() + timedelta(days=1)
    return datetime.combine(tomorrow, time(0), tzinfo=here.tzinfo)
    # --8<-- [end:helpers]
