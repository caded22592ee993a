"""An object that counts, and can be made to fail in several ways."""

from typing import Any

from melee.objects.durable import Durable


class Counter(Durable):
    def __init__(self) -> None:
        self.calls_since_loaded = 0

    def setup(self) -> None:
        self.storage.put("count", 0)

    def add(self, by: int = 1) -> int:
        self.calls_since_loaded += 1
        self.storage.put("count", self.storage.get("count") + by)
        return self.value()

    def value(self) -> int:
        count: int = self.storage.get("count")
        return count

    def loaded_for(self) -> int:
        return self.calls_since_loaded

    def echo(self, value: Any) -> Any:
        return value

    def add_then_fail(self) -> None:
        self.add()
        raise KeyError("missing")

    def add_and_take_back(self) -> None:
        with self.storage.transaction():
            self.add()
            raise ValueError("no")

    def leave(self) -> None:
        raise SystemExit(3)

    def bad_result(self) -> object:
        return {"when": {1, 2}}

    def end(self) -> bool:
        self.add(100)
        return type(self).destroy(self.id)

    def end_another(self, id: str) -> bool:
        return Counter.destroy(id)
