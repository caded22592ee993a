"""A whiteboard that is wiped at night."""

from datetime import time

from melee import Durable, now

from lib.nightly import next_local

WIPED_AT = time(3, 0)
NIGHTS_SHOWN = 7


# --8<-- [start:class]
class Whiteboard(Durable):
    # --8<-- [start:setup]
    def setup(self) -> None:
        self.timer(at=next_local(WIPED_AT))
        # --8<-- [end:setup]

    # --8<-- [start:on_timer]
    def on_timer(self) -> None:
        self._wipe()
        self.timer(at=next_local(WIPED_AT))
        # --8<-- [end:on_timer]

    # --8<-- [start:wipe]
    def _wipe(self) -> None:
        with self.storage.transaction():
            wiped = self.storage.run("DELETE FROM lines")
            # One that was missed may come late, on the date of the next.
            self.storage.run(
                "INSERT INTO nights (ended_on, lines) VALUES (?, ?) "
                "ON CONFLICT (ended_on) DO UPDATE SET lines = lines + excluded.lines",
                now().date().isoformat(),
                wiped,
            )
            # --8<-- [end:wipe]

    def write(self, text: str) -> None:
        self.storage.run("INSERT INTO lines (text) VALUES (?)", text)

    def lines(self) -> list[str]:
        rows = self.storage.query("SELECT text FROM lines ORDER BY id")
        return [row["text"] for row in rows]

    def nights(self) -> list[dict[str, str | int]]:
        """The last ones, each with `ended_on` and how many `lines` went."""
        return self.storage.query(
            "SELECT ended_on, lines FROM nights ORDER BY ended_on DESC LIMIT ?",
            NIGHTS_SHOWN,
        )
        # --8<-- [end:class]
