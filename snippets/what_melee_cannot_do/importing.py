"""Long work in short steps: a request writes it down, a timer does it."""

from melee import Durable

LINES_AT_ONCE = 500


class Import(Durable):
    # --8<-- [start:steps]
    def begin(self, lines: list[str]) -> None:
        self.storage.put("waiting", lines)
        self.timer(after=0)

    def on_timer(self) -> None:
        waiting = self.storage.get("waiting")
        with self.storage.transaction():
            for line in waiting[:LINES_AT_ONCE]:
                name, _, price = line.partition(",")
                self.storage.put(f"price {name}", price)
            self.storage.put("waiting", waiting[LINES_AT_ONCE:])
            if len(waiting) > LINES_AT_ONCE:
                self.timer(after=0)

    def waiting(self) -> int:
        return len(self.storage.get("waiting", []))
        # --8<-- [end:steps]
