"""The search index: a table of SQLite's FTS5, with a row for each product."""

from typing import Any

from melee.store.database import Database, Row

FOUND_AT_MOST = 50


# --8<-- [start:index]
def index(db: Database, product: Row) -> None:
    db.run(
        "INSERT INTO search (rowid, name, description) VALUES (?, ?, ?)",
        product["id"],
        product["name"],
        product["description"],
    )


def forget(db: Database, product_id: int) -> None:
    db.run("DELETE FROM search WHERE rowid = ?", product_id)
    # --8<-- [end:index]


# --8<-- [start:found]
def found(db: Database, words: str) -> list[dict[str, Any]]:
    """The products with all these words, or words that begin so; the best first."""
    wanted = quoted(words)
    if not wanted:
        return []
    return db.query(
        "SELECT rowid AS id, name, description FROM search WHERE search MATCH ? "
        "ORDER BY rank LIMIT ?",
        wanted,
        FOUND_AT_MOST,
    )


def quoted(words: str) -> str:
    """What people write is text: no quote or hyphen in it means anything to FTS5."""
    return " ".join(f'"{word}"*' for word in words.replace('"', " ").split())
    # --8<-- [end:found]
