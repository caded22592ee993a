class Stats:
    # --8<-- [start:outer]
    def setup(self) -> None:
        # --8<-- [start:inner]
        self.timer = 1
        self.other = 2
        # --8<-- [end:inner]
        self.last = 3

    # --8<-- [end:outer]
    def hit(self) -> None:
        self.timer = 2
