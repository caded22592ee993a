"""Money, which has to be taken once."""

from melee import Job, Resources


# --8<-- [start:charge]
class Charge(Job):
    NAME = "charge"

    order_id: int
    cents: int

    def run(self, resources: Resources) -> None:
        with resources.db.transaction():
            is_new = resources.db.run(
                "INSERT INTO charges (order_id) VALUES (?) ON CONFLICT DO NOTHING",
                self.order_id,
            )
            if is_new:
                resources.db.run(
                    "UPDATE till SET cents = cents + ?",
                    self.cents,
                )
                # --8<-- [end:charge]
