"""A value that does not cross."""

from typing import Any

from melee import Durable, now


class Diary(Durable):
    def note(self, text: str, about: dict[str, Any]) -> None:
        self.storage.put(text, about)


# --8<-- [start:when]
def write_diary() -> None:
    Diary.get("mine").note("hello", {"when": now()})
    # --8<-- [end:when]
