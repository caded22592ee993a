"""A page to sign up on. The user and the job that welcomes them are stored together."""

import uuid

from flask import render_template, request
from flask.typing import ResponseReturnValue
from melee import App, now
from melee.errors import ConstraintError

from jobs.send_welcome import SendWelcome

LONGEST_EMAIL = 254

# --8<-- [start:register]
app = App(__name__)
app.jobs.register(SendWelcome)
# --8<-- [end:register]
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
        sign_up(email)
    except ConstraintError:
        return show_form(email, f"{email} is signed up already."), 422
    return render_template("thanks.html"), 201
    # --8<-- [end:signup]


# --8<-- [start:together]
def sign_up(email: str) -> None:
    user_id = uuid.uuid4().hex
    with app.db.transaction():
        app.db.run(
            "INSERT INTO users (id, created_at, email) VALUES (?, ?, ?)",
            user_id,
            now().isoformat(),
            email,
        )
        app.jobs.enqueue(SendWelcome(user_id=user_id))
        # --8<-- [end:together]


def is_email(text: str) -> bool:
    """Whether it may be one. Only a mail that arrives can tell."""
    name, _, host = text.rpartition("@")
    is_one_word = len(text.split()) == 1 and text.isprintable()
    return bool(name and host) and is_one_word and len(text) <= LONGEST_EMAIL
