"""The jobs: how many there are, in which order they run, and that no change is lost."""

import sys
from typing import Any

from melee.testing import AppUnderTest

from .conftest import add, change, finds, rows, withdraw


# --8<-- [start:once]
def test_ten_changes_in_a_row_are_one_job(app: AppUnderTest) -> None:
    tea = add(app, "Tea")
    for number in range(10):
        change(app, tea, f"Tea {number}")

    assert app.jobs.run_pending() == 1
    assert finds(app, "tea") == ["Tea 9"]
    # --8<-- [end:once]


def test_each_product_has_a_job_of_its_own(app: AppUnderTest) -> None:
    for name in ("Tea", "Pot", "Cup"):
        add(app, name)
    assert app.jobs.run_pending() == 3


# --8<-- [start:late]
def test_a_change_made_while_the_job_runs_is_not_lost(
    app: AppUnderTest, monkeypatch: Any
) -> None:
    tea = add(app, "Tea")
    job = sys.modules["jobs.search"].ReindexProduct
    run, late_changes = job.run, ["Green tea"]

    def run_while_somebody_changes_it(self: Any, resources: Any) -> None:
        run(self, resources)
        while late_changes:
            change(app, tea, late_changes.pop())

    monkeypatch.setattr(job, "run", run_while_somebody_changes_it)
    assert app.jobs.run_pending() == 2
    assert finds(app, "tea") == ["Green tea"]
    # --8<-- [end:late]


# --8<-- [start:overtakes]
def test_a_withdrawal_overtakes_a_flood_of_changes(
    app: AppUnderTest, monkeypatch: Any
) -> None:
    products = [add(app, f"Tea {number}") for number in range(100)]
    withdraw(app, products[50])
    touched: list[int] = []

    def forget(_db: Any, product: int) -> None:
        touched.append(product)

    monkeypatch.setattr("jobs.search.forget", forget)

    assert app.jobs.run_pending() == 101
    assert touched[0] == products[50]
    # --8<-- [end:overtakes]


def test_a_product_that_is_withdrawn_is_not_found_though_a_change_was_queued(
    app: AppUnderTest,
) -> None:
    tea = add(app, "Tea")
    withdraw(app, tea)
    assert app.jobs.run_pending() == 2
    assert finds(app, "tea") == []
    assert rows(app, "SELECT * FROM search") == []


# --8<-- [start:twice]
def test_a_job_that_runs_twice_does_no_harm(app: AppUnderTest) -> None:
    from jobs.search import ReindexProduct

    tea = add(app, "Tea")
    app.jobs.run_pending()
    app.jobs.enqueue(ReindexProduct(product_id=tea))
    app.jobs.run_pending()
    assert finds(app, "tea") == ["Tea"]
    assert app.jobs.waiting() == []
    # --8<-- [end:twice]


def test_the_index_can_be_built_anew(app: AppUnderTest) -> None:
    for number in range(20):
        add(app, f"Tea {number}")
    app.jobs.run_pending()
    with app.flask.app_context():
        app.flask.db.run("DELETE FROM search")  # type: ignore[attr-defined]
    assert finds(app, "tea") == []

    app.client.post("/reindex")
    assert app.jobs.run_pending() == 20
    assert len(finds(app, "tea")) == 20
