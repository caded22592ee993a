"""A handle has the methods of the class and no others."""

from snippets.durable_objects.counter import Counter


# --8<-- [start:misspelt]
def count_wrongly() -> None:
    Counter.get("apples").ad()  # type: ignore[attr-defined]
    # --8<-- [end:misspelt]
