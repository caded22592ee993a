"""Links that a team shares, and a mail with the new ones: each working day, and each
week."""

import uuid

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from melee import App, now

from jobs.send_digest import SendDigest

LONGEST_TITLE, LONGEST_URL = 200, 2_000
SHOWN = 50

# --8<-- [start:cron]
WORKING_DAYS = "CRON_TZ=Europe/Paris 0 8 * * MON-FRI"
MONDAYS = "CRON_TZ=+01:00 30 7 * * MON"

app = App(__name__)
app.jobs.cron(WORKING_DAYS, SendDigest(period="daily"))
app.jobs.cron(MONDAYS, SendDigest(period="weekly"))
# --8<-- [end:cron]
app.config["MAX_CONTENT_LENGTH"] = 16 * 1024


@app.get("/")
def index() -> str:
    return show_links()


def show_links(title: str = "", url: str = "", problem: str = "") -> str:
    links = app.db.query(
        "SELECT title, url FROM links ORDER BY shared_at DESC LIMIT ?", SHOWN
    )
    return render_template(
        "index.html", links=links, title=title, url=url, problem=problem
    )


@app.post("/links")
def share() -> ResponseReturnValue:
    title = request.form.get("title", "").strip()
    url = request.form.get("url", "").strip()
    if not 1 <= len(title) <= LONGEST_TITLE:
        return show_links(title, url, "Say in a few words what it is."), 422
    if not is_link(url):
        return show_links(title, url, "A link begins with https:// or http://."), 422
    app.db.run(
        "INSERT INTO links (id, shared_at, title, url) VALUES (?, ?, ?, ?)",
        uuid.uuid4().hex,
        now().timestamp(),
        title,
        url,
    )
    return redirect(url_for("index"), 303)


def is_link(text: str) -> bool:
    scheme, _, rest = text.partition("://")
    is_one_word = len(text.split()) == 1 and text.isprintable()
    is_right = scheme in ("http", "https") and bool(rest) and is_one_word
    return is_right and len(text) <= LONGEST_URL
