"""One object may call another. Two that wait for each other may not."""

from melee import Durable
from melee.errors import Deadlock


class Ping(Durable):
    # --8<-- [start:ping]
    def serve(self, opponent: str) -> str:
        try:
            return Pong.get(opponent).answer(self.id)
        except Deadlock as error:
            return " → ".join(error.chain)
        # --8<-- [end:ping]


class Pong(Durable):
    # --8<-- [start:pong]
    def answer(self, opponent: str) -> str:
        return Ping.get(opponent).serve(self.id)
        # --8<-- [end:pong]
