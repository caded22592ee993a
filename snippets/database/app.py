"""What a small shop has in stock."""

from flask import abort
from flask.typing import ResponseReturnValue
from melee import App
from melee.errors import ConstraintError, DatabaseLocked

app = App(__name__)


# --8<-- [start:sell]
@app.post("/items/<int:id>/sell")
def sell(id: int) -> ResponseReturnValue:
    with app.db.transaction():
        item = app.db.first("SELECT stock FROM items WHERE id = ?", id)
        if item is None or item["stock"] == 0:
            abort(409, "It is sold out.")
        app.db.run("UPDATE items SET stock = stock - 1 WHERE id = ?", id)
        app.db.run("INSERT INTO sales (item_id) VALUES (?)", id)
    return "sold"
    # --8<-- [end:sell]


# --8<-- [start:add]
@app.post("/items/<name>")
def add(name: str) -> ResponseReturnValue:
    try:
        app.db.run("INSERT INTO items (name, stock) VALUES (?, 10)", name)
    except ConstraintError:
        abort(409, "There is one of this name already.")
    return "added", 201
    # --8<-- [end:add]


# --8<-- [start:locked]
@app.errorhandler(DatabaseLocked)
def locked(_error: DatabaseLocked) -> ResponseReturnValue:
    return "Many are writing just now. Please try again.", 503
    # --8<-- [end:locked]
