"""A timer that goes on whatever happens: it is set after the work, done or not."""

import os

from melee import Durable, http


class Rates(Durable):
    # --8<-- [start:always]
    def on_timer(self) -> None:
        delay = 60
        try:
            answer = http.get(os.environ["RATES_URL"], timeout=5).raise_for_status()
            self.storage.put("rates", answer.json())
            delay = 3600
        finally:
            self.timer(after=delay)
            # --8<-- [end:always]

    def start(self) -> None:
        self.timer(after=0)

    def rates(self) -> dict[str, float]:
        rates: dict[str, float] = self.storage.get("rates", {})
        return rates
