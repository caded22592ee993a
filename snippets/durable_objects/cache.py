"""What an attribute is good for: work that may be done again."""

from melee import Durable


class Glossary(Durable):
    def __init__(self) -> None:
        self.by_length: list[str] | None = None

    def define(self, word: str, meaning: str) -> None:
        self.storage.put(f"word {word}", meaning)
        self.by_length = None

    def longest(self, most: int) -> list[str]:
        if self.by_length is None:
            words = [key.removeprefix("word ") for key in self.storage.keys("word ")]
            self.by_length = sorted(words, key=len, reverse=True)
        return self.by_length[:most]
