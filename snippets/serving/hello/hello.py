"""An app that knows nothing of melee."""

from flask import Flask

app = Flask(__name__)


@app.get("/")
def hello() -> str:
    return "hello from Flask\n"
