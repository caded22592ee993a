"""A page to sign up on: whoever does gets a mail, and does not wait for it."""

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from melee import App, now
from melee.errors import ConstraintError

from lib.outbox import Outbox

LONGEST_EMAIL = 254

# --8<-- [start:app]
app = App(__name__)
# --8<-- [end:app]
# No form here is longer. A refused one comes back with what was written.
app.config["MAX_CONTENT_LENGTH"] = 16 * 1024


@app.get("/")
def index() -> str:
    return show_form()


def show_form(email: str = "", problem: str = "") -> str:
    return render_template(
        "index.html", email=email, problem=problem, longest=LONGEST_EMAIL
    )


# --8<-- [start:signup]
@app.post("/signup")
def signup() -> ResponseReturnValue:
    email = request.form.get("email", "").strip()
    if not is_email(email):
        return show_form(email, "Write an address such as ada@example.org."), 422
    try:
        app.db.run(
            "INSERT INTO users (created_at, email) VALUES (?, ?)",
            now().isoformat(),
            email,
        )
    except ConstraintError:
        return show_form(email, f"{email} is signed up already."), 422
    Outbox.get("mails").push("welcome", {"email": email})
    return redirect(url_for("thanks"), 303)
    # --8<-- [end:signup]


@app.get("/thanks")
def thanks() -> str:
    return render_template("thanks.html")


def is_email(text: str) -> bool:
    """Whether it may be one. Only a mail that arrives can tell."""
    name, _, host = text.rpartition("@")
    is_one_word = len(text.split()) == 1 and text.isprintable()
    return bool(name and host) and is_one_word and len(text) <= LONGEST_EMAIL
