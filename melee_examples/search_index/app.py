"""A small shop: what it sells, and a search that knows each change a moment later."""

from flask import abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from melee import App

from jobs.search import ForgetProduct, ReindexProduct
from lib.index import found

LONGEST_NAME, LONGEST_DESCRIPTION = 100, 2_000

# --8<-- [start:register]
app = App(__name__)
app.jobs.register(ReindexProduct)
app.jobs.register(ForgetProduct)
# --8<-- [end:register]
app.config["MAX_CONTENT_LENGTH"] = 64 * 1024


@app.get("/")
def index() -> str:
    words = request.args.get("q", "").strip()
    if words:
        return render_template("index.html", words=words, products=found(app.db, words))
    products = app.db.query("SELECT id, name, description FROM products ORDER BY name")
    return render_template("index.html", words="", products=products)


@app.post("/products")
def add() -> ResponseReturnValue:
    return save(None)


@app.get("/products/<int:product_id>")
def show(product_id: int) -> str:
    product = app.db.first("SELECT * FROM products WHERE id = ?", product_id)
    if product is None:
        abort(404)
    return render_template("product.html", product=product, problem="")


@app.post("/products/<int:product_id>")
def change(product_id: int) -> ResponseReturnValue:
    return save(product_id)


# --8<-- [start:save]
def save(product_id: int | None) -> ResponseReturnValue:
    name = request.form.get("name", "").strip()
    description = request.form.get("description", "").strip()
    problem = problem_with(name, description)
    if problem:
        product = {"id": product_id, "name": name, "description": description}
        return render_template("product.html", product=product, problem=problem), 422
    with app.db.transaction():
        row = app.db.first(
            "INSERT INTO products (id, name, description) VALUES (?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET name = excluded.name, "
            "description = excluded.description RETURNING id",
            product_id,
            name,
            description,
        )
        assert row
        app.jobs.enqueue(ReindexProduct(product_id=row["id"]))
    return redirect(url_for("index"), 303)
    # --8<-- [end:save]


# --8<-- [start:withdraw]
@app.post("/products/<int:product_id>/withdraw")
def withdraw(product_id: int) -> ResponseReturnValue:
    with app.db.transaction():
        app.db.run("DELETE FROM products WHERE id = ?", product_id)
        app.jobs.enqueue(ForgetProduct(product_id=product_id))
    return redirect(url_for("index"), 303)
    # --8<-- [end:withdraw]


# --8<-- [start:all]
@app.post("/reindex")
def reindex() -> ResponseReturnValue:
    products = app.db.query("SELECT id FROM products ORDER BY id")
    app.jobs.enqueue_many(ReindexProduct(product_id=row["id"]) for row in products)
    return redirect(url_for("index"), 303)
    # --8<-- [end:all]


def problem_with(name: str, description: str) -> str:
    if not 1 <= len(name) <= LONGEST_NAME:
        return f"A name has 1 to {LONGEST_NAME} characters."
    if len(description) > LONGEST_DESCRIPTION:
        return f"A description has up to {LONGEST_DESCRIPTION:,} characters."
    return ""
