"""A whiteboard for the day: anyone can write on it, and at 3 in the morning it is
wiped."""

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from melee import App

from lib.nightly import next_local
from lib.whiteboard import WIPED_AT, Whiteboard

LONGEST_LINE = 140

# --8<-- [start:app]
app = App(__name__)
# --8<-- [end:app]
# No form here is longer. A refused one comes back with what was written.
app.config["MAX_CONTENT_LENGTH"] = 16 * 1024


# --8<-- [start:index]
@app.get("/")
def index() -> str:
    return show_whiteboard()


def show_whiteboard(text: str = "", problem: str = "") -> str:
    whiteboard = Whiteboard.get("main")
    return render_template(
        "index.html",
        lines=whiteboard.lines(),
        nights=whiteboard.nights(),
        wiped_at=next_local(WIPED_AT),
        text=text,
        problem=problem,
        longest=LONGEST_LINE,
    )
    # --8<-- [end:index]


# --8<-- [start:write]
@app.post("/lines")
def write() -> ResponseReturnValue:
    text = request.form.get("text", "").strip()
    if not 1 <= len(text) <= LONGEST_LINE:
        return show_whiteboard(
            text, f"Write 1 to {LONGEST_LINE} characters; this line has {len(text)}."
        ), 422
    Whiteboard.get("main").write(text)
    return redirect(url_for("index"), 303)
    # --8<-- [end:write]
