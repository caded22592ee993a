"""How many people looked at the board, day by day."""

from datetime import datetime, time, timedelta

from melee import Durable, now

KEPT_DAYS = 30


class Stats(Durable):
    def setup(self) -> None:
        self.timer(at=next_midnight())

    def hit(self) -> None:
        self.storage.run(
            "INSERT INTO days (on_date, views) VALUES (?, 1) "
            "ON CONFLICT (on_date) DO UPDATE SET views = views + 1",
            today(),
        )

    def today(self) -> int:
        row = self.storage.first("SELECT views FROM days WHERE on_date = ?", today())
        return row["views"] if row else 0

    def on_timer(self) -> None:
        oldest = now().date() - timedelta(days=KEPT_DAYS)
        self.storage.run("DELETE FROM days WHERE on_date < ?", oldest.isoformat())
        self.timer(at=next_midnight())


def today() -> str:
    return now().date().isoformat()


def next_midnight() -> datetime:
    here = now()
    tomorrow = here.date() + timedelta(days=1)
    return datetime.combine(tomorrow, time(0), tzinfo=here.tzinfo)
