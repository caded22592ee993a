"""A board of short notes: `/` shows the open ones, `/admin` shows all of them."""

from typing import Any

from flask import abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from melee import App, now

from lib.stats import Stats

LONGEST_NOTE = 280

# --8<-- [start:app]
app = App(__name__)
# --8<-- [end:app]
# No form here is longer. A refused one comes back with what was written.
app.config["MAX_CONTENT_LENGTH"] = 16 * 1024


# --8<-- [start:same_site]
@app.before_request
def refuse_forms_of_other_sites() -> None:
    _, _, site = request.headers.get("Origin", request.host_url).partition("://")
    if request.method == "POST" and site.rstrip("/") != request.host:
        abort(403, "This form was sent from another site.")
        # --8<-- [end:same_site]


# --8<-- [start:index]
@app.get("/")
def index() -> str:
    Stats.get("visits").hit()
    return show_board()


def show_board(text: str = "", problem: str = "") -> str:
    views = Stats.get("visits").today()
    return render_template(
        "index.html",
        notes=open_notes(),
        views=views,
        text=text,
        problem=problem,
        longest=LONGEST_NOTE,
    )
    # --8<-- [end:index]


def open_notes() -> list[dict[str, Any]]:
    return app.db.query(
        "SELECT id, text, created_at FROM notes "
        "WHERE closed_at IS NULL ORDER BY id DESC"
    )


# --8<-- [start:add]
@app.post("/notes")
def add_note() -> ResponseReturnValue:
    text = request.form.get("text", "").strip()
    if not 1 <= len(text) <= LONGEST_NOTE:
        return show_board(
            text, f"Write 1 to {LONGEST_NOTE} characters; this note has {len(text)}."
        ), 422
    app.db.run(
        "INSERT INTO notes (text, created_at) VALUES (?, ?)", text, this_minute()
    )
    return redirect(url_for("index"), 303)
    # --8<-- [end:add]


# --8<-- [start:close]
@app.post("/notes/<int:id>/close")
def close_note(id: int) -> ResponseReturnValue:
    app.db.run(
        "UPDATE notes SET closed_at = ? WHERE id = ? AND closed_at IS NULL",
        this_minute(),
        id,
    )
    return redirect(url_for("index"), 303)
    # --8<-- [end:close]


# --8<-- [start:admin]
@app.get("/admin")
def admin() -> str:
    notes = app.db.query(
        "SELECT id, text, created_at, closed_at FROM notes ORDER BY id DESC"
    )
    return render_template("admin.html", notes=notes)


@app.post("/admin/notes/<int:id>/reopen")
def reopen_note(id: int) -> ResponseReturnValue:
    app.db.run("UPDATE notes SET closed_at = NULL WHERE id = ?", id)
    return redirect(url_for("admin"), 303)


@app.post("/admin/notes/<int:id>/delete")
def delete_note(id: int) -> ResponseReturnValue:
    app.db.run("DELETE FROM notes WHERE id = ?", id)
    return redirect(url_for("admin"), 303)
    # --8<-- [end:admin]


def this_minute() -> str:
    return now().isoformat(timespec="minutes")
