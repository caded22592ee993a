"""The smallest object that remembers something."""

from melee import Durable


class Counter(Durable):
    def add(self, amount: int = 1) -> int:
        total = int(self.storage.get("total", 0)) + amount
        self.storage.put("total", total)
        return total
