"""The visitor needs the result, so the request waits for it."""

import os

from flask import abort, redirect, request
from flask.typing import ResponseReturnValue
from melee import App, http

app = App(__name__)


# --8<-- [start:route]
@app.post("/subscribe")
def subscribe() -> ResponseReturnValue:
    try:
        answer = http.post(
            os.environ["NEWSLETTER_URL"],
            json={"email": request.form["email"]},
            timeout=5,
        )
        answer.raise_for_status()
    except http.Error:
        abort(502, "The newsletter does not answer as it should. Try again later.")
    return redirect("/thanks", 303)
    # --8<-- [end:route]


@app.get("/thanks")
def thanks() -> str:
    return "Thank you.\n"
