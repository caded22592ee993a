"""Set the timer last, and a failure ends it; set it first, and it goes on."""

from melee import Durable


class StopsWhenItFails(Durable):
    # --8<-- [start:stops]
    def on_timer(self) -> None:
        self.work()
        self.timer(after=60)
        # --8<-- [end:stops]

    def start(self) -> None:
        self.timer(after=0)

    def work(self) -> None:
        raise RuntimeError("the service is down")


class GoesOnWhenItFails(Durable):
    # --8<-- [start:goes_on]
    def on_timer(self) -> None:
        self.timer(after=60)
        self.work()
        # --8<-- [end:goes_on]

    def start(self) -> None:
        self.timer(after=0)

    def work(self) -> None:
        raise RuntimeError("the service is down")
