"""The console stands in front of an app, which has no part in its answers; it obeys, and says what came of it."""

import logging
from collections.abc import Callable

import pytest

from melee.jobs.store import NewJob
from melee.testing import AppUnderTest
from tests.melee.console.visitor import HOST, Visitor

SAME = {"Origin": f"http://{HOST}", "Sec_Fetch_Site": "same-origin"}


def test_everything_else_is_the_apps(visitor: Visitor) -> None:
    assert visitor.client.get("/").text == "the app"
    for path in ("/_melee2", "/x/_melee/", "/console.css"):
        assert visitor.client.get(path).text == "refused by the app"


def test_nothing_of_the_app_has_a_part_in_the_page(visitor: Visitor) -> None:
    response = visitor.get()
    assert response.status_code == 200
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'; ")
    assert visitor.get("nowhere").text == "404: the console has no such page\n"


def test_no_app_has_the_console_by_itself(under: AppUnderTest) -> None:
    assert under.client.get("/_melee/").text == "refused by the app"


def test_the_address_without_the_slash_leads_to_it(visitor: Visitor) -> None:
    response = visitor.client.get("/_melee", headers={"Host": HOST})
    assert (response.status_code, response.headers["Location"]) == (303, "/_melee/")


@pytest.mark.parametrize("path", ["", "console.css", "console.js", "nowhere", "jobs/retry"])
def test_no_answer_is_kept_framed_or_read_by_others(visitor: Visitor, path: str) -> None:
    headers = visitor.get(path).headers
    assert headers["Cache-Control"] == "no-store"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "form-action 'self'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["Cross-Origin-Resource-Policy"] == headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


def test_style_and_script_come_from_here_with_their_types(visitor: Visitor) -> None:
    assert visitor.get("console.css").headers["Content-Type"] == "text/css; charset=utf-8"
    assert visitor.get("console.js").headers["Content-Type"] == "text/javascript; charset=utf-8"
    page = visitor.page()
    assert [script["src"] for script in page("script")] == ["console.js"]
    assert not page("style")
    assert not page.find_all(style=True)


@pytest.mark.parametrize("path", ["../console.py", "console.py", "static/console.css", "%2e%2e/console.py"])
def test_no_other_file_can_be_had(visitor: Visitor, path: str) -> None:
    assert visitor.get(path).status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "", "GET, HEAD"),
        ("DELETE", "console.css", "GET, HEAD"),
        ("GET", "jobs/retry", "POST"),
        ("HEAD", "jobs/7/discard", "POST"),
        ("PUT", "jobs/7/retry", "POST"),
    ],
)
def test_a_method_that_does_not_fit_is_refused(visitor: Visitor, method: str, path: str, allowed: str) -> None:
    response = visitor.client.open(f"/_melee/{path}", method=method, headers={"Host": HOST})
    assert (response.status_code, response.headers["Allow"]) == (405, allowed)


def test_a_head_has_no_body(visitor: Visitor) -> None:
    response = visitor.client.head("/_melee/", headers={"Host": HOST})
    assert (response.status_code, response.data) == (200, b"")


@pytest.mark.parametrize("path", ["", "console.css", "jobs/retry", "nowhere"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_name_that_leads_here_from_elsewhere_is_refused_in_a_line(visitor: Visitor, method: str, path: str) -> None:
    response = visitor.client.open(f"/_melee/{path}", method=method, headers={"Host": "evil.example:5000"})
    assert response.status_code == 403
    assert response.text.startswith("403: the console is not at the host 'evil.example:5000'; it answers to ")
    assert response.text.count("\n") == 1
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("order", ["jobs/retry", "jobs/1/retry", "jobs/1/discard"])
@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Referer": "http://localhost:3000/"}, {"Sec_Fetch_Site": "cross-site"}],
)
def test_an_order_from_another_page_changes_nothing(visitor: Visitor, order: str, headers: dict[str, str]) -> None:
    visitor.fail(NewJob("send_welcome", "{}"))
    response = visitor.post(order, **headers)
    assert response.status_code == 403
    assert response.text.count("\n") == 1
    assert len(visitor.page().select("#failed tbody tr")) == 1


def test_an_order_from_a_program_is_obeyed(visitor: Visitor) -> None:
    visitor.fail(NewJob("send_welcome", "{}"))
    assert visitor.post("jobs/retry").status_code == 303
    assert visitor.page().select("#failed tbody tr") == []


def test_retry_all_says_how_many_are_queued_and_how_many_are_left(visitor: Visitor) -> None:
    visitor.fail(*[NewJob("send_welcome", "{}")] * 3)
    visitor.fail(NewJob("send_welcome", "{}", unique_key="a"))
    visitor.store(NewJob("send_welcome", "{}", unique_key="a"))
    assert visitor.order("jobs/retry") == "3 queued again, 1 left: a newer job holds its key."
    assert visitor.order("jobs/retry") == "0 queued again, 1 left: a newer job holds its key."


def test_retry_all_without_a_key_that_is_held_says_how_many(visitor: Visitor) -> None:
    visitor.fail(*[NewJob("send_welcome", "{}")] * 1_200)
    assert visitor.order("jobs/retry") == "1,200 queued again."
    assert visitor.order("jobs/retry") == "No job has failed, so none is queued again."


def test_several_left_have_their_keys(visitor: Visitor) -> None:
    visitor.fail(NewJob("send_welcome", "{}", unique_key="a"), NewJob("send_welcome", "{}", unique_key="b"))
    visitor.store(NewJob("send_welcome", "{}", unique_key="a"), NewJob("send_welcome", "{}", unique_key="b"))
    assert visitor.order("jobs/retry") == "0 queued again, 2 left: a newer job holds their key."


def test_retry_and_discard_take_one_job_and_leave_the_others(visitor: Visitor) -> None:
    first, second, third = visitor.fail(*[NewJob("send_welcome", "{}")] * 3)
    assert visitor.order(f"jobs/{second}/retry") == f"Job {second} is queued again."
    assert visitor.order(f"jobs/{first}/discard") == f"Job {first} is deleted."
    page = visitor.page()
    assert [row["id"] for row in page.select("#failed tbody tr")] == [f"failed-{third}"]
    assert [row["id"] for row in page.select("#jobs tr[id]")] == [f"waiting-{second}"]


@pytest.mark.parametrize("order", ["retry", "discard"])
def test_an_order_that_comes_too_late_leaves_the_job_and_says_why(visitor: Visitor, order: str) -> None:
    (id,) = visitor.fail(NewJob("send_welcome", "{}"))
    visitor.post("jobs/retry")
    assert visitor.order(f"jobs/{id}/{order}") == f"Job {id} was left as it is: it is queued by now."
    visitor.run_sql("DELETE FROM melee_jobs")
    assert visitor.order(f"jobs/{id}/{order}") == f"There is no job {id} any more."


def test_retry_of_a_job_whose_key_is_held_says_so(visitor: Visitor) -> None:
    (id,) = visitor.fail(NewJob("send_welcome", "{}", unique_key="a"))
    visitor.store(NewJob("send_welcome", "{}", unique_key="a"))
    assert visitor.order(f"jobs/{id}/retry") == f"Job {id} was left as it is: a newer job holds its key."


def test_an_order_that_the_database_refuses_says_why_and_changes_nothing(visitor: Visitor) -> None:
    ids = visitor.fail(*[NewJob("send_welcome", "{}")] * 2)
    visitor.run_sql(
        "CREATE TRIGGER refuse BEFORE UPDATE ON melee_jobs WHEN old.id = 2 "
        "BEGIN SELECT RAISE(ABORT, 'not <today>'); END"
    )
    assert visitor.order("jobs/retry").startswith("Nothing was done. ConstraintError: not <today> in: UPDATE")
    assert len(visitor.page().select("#failed tbody tr")) == len(ids)


@pytest.mark.parametrize("id", ["0", "-1", "1.5", "x", "9" * 19, "٣", ""])
def test_an_order_on_what_is_no_job_is_refused_or_says_so(visitor: Visitor, id: str) -> None:
    response = visitor.post(f"jobs/{id}/discard", **SAME)
    assert response.status_code in (303, 404)
    if id == "0":
        assert visitor.order("jobs/0/discard") == "There is no job 0 any more."


def test_what_is_said_comes_from_here_and_from_no_address(visitor: Visitor) -> None:
    assert visitor.get("?said=<b>you+won</b>").text.count("you") == visitor.get().text.count("you")


def test_of_what_was_said_the_last_50_are_kept(visitor: Visitor) -> None:
    first, *_others, last = [visitor.post("jobs/retry").headers["Location"] for _ in range(51)]
    says: Callable[[str], bool] = lambda location: "No job has failed, so" in visitor.get(location[8:]).text  # noqa: E731
    assert (says(first), says(last)) == (False, True)


def test_an_app_that_is_no_melee_app_has_the_console_too() -> None:
    def app(_environ: object, start_response: Callable[..., object]) -> list[bytes]:
        start_response("200 OK", [])
        return [b"plain"]

    visitor = Visitor(app)
    assert visitor.client.get("/").text == "plain"
    assert "has no melee" in visitor.get().text
    assert visitor.order("jobs/retry") == "Nothing was done. This app has no jobs."


def test_the_page_does_not_fill_the_access_log_and_all_else_does(
    visitor: Visitor, caplog: pytest.LogCaptureFixture
) -> None:
    access = logging.getLogger("werkzeug")
    access.setLevel(logging.INFO)
    with caplog.at_level(logging.INFO, "werkzeug"):
        access.info('127.0.0.1 - - [date] "%s" 200 -', "GET /_melee/ HTTP/1.1")
        access.info('127.0.0.1 - - [date] "%s" 200 -', "POST /_melee/jobs/retry HTTP/1.1")
        access.info('127.0.0.1 - - [date] "%s" 200 -', "GET / HTTP/1.1")
    assert [record.args for record in caplog.records] == [("POST /_melee/jobs/retry HTTP/1.1",), ("GET / HTTP/1.1",)]
