"""SQL, a transaction, and what an exception leaves behind."""

from typing import Any

from melee import Durable


class Account(Durable):
    # --8<-- [start:setup]
    def setup(self) -> None:
        self.storage.run("INSERT INTO balance (cents) VALUES (0)")
        # --8<-- [end:setup]

    # --8<-- [start:pay]
    def pay(self, cents: int, purpose: str) -> int:
        with self.storage.transaction():
            self.storage.run("UPDATE balance SET cents = cents - ?", cents)
            if self.balance() < 0:
                raise ValueError(f"{cents} cents are more than there is")
            self.storage.run(
                "INSERT INTO entries (cents, purpose) VALUES (?, ?)", -cents, purpose
            )
        return self.balance()
        # --8<-- [end:pay]

    def deposit(self, cents: int) -> int:
        return self.pay(-cents, "deposit")

    # --8<-- [start:read]
    def balance(self) -> int:
        row = self.storage.first("SELECT cents FROM balance")
        if row is None:
            return 0
        return int(row["cents"])

    def entries(self) -> list[dict[str, Any]]:
        return self.storage.query("SELECT cents, purpose FROM entries ORDER BY id")
        # --8<-- [end:read]
