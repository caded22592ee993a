"""Somebody else's feed: `/` shows what was read last, and how old it is."""

from datetime import datetime, timedelta

from flask import render_template
from melee import App, now

from lib.refresher import EVERY_SECONDS, Refresher

# By then two refreshes have failed.
OLD = timedelta(seconds=2 * EVERY_SECONDS)

# --8<-- [start:app]
app = App(__name__)
# --8<-- [end:app]


# --8<-- [start:index]
@app.get("/")
def index() -> str:
    latest = Refresher.get("main").latest()
    if latest is None:
        return render_template("nothing_yet.html")
    age = now() - datetime.fromisoformat(latest["refreshed_at"])
    return render_template(
        "index.html", feed=latest["feed"], age=in_words(age), is_old=age > OLD
    )
    # --8<-- [end:index]


def in_words(age: timedelta) -> str:
    minutes = age // timedelta(minutes=1)
    if minutes < 1:
        return "less than a minute ago"
    if minutes < 120:
        return f"{minutes} min ago"
    return f"{minutes // 60} hours ago"
