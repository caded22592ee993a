"""What the page shows of jobs, cron, objects and the log, and that nothing in there acts or keeps it from coming up."""

import threading
import timeit
from pathlib import Path
from typing import Any

import pytest

from melee import log
from melee.console.jobs import opened_store
from melee.jobs.store import NewJob, Wanted
from melee.testing import AppUnderTest
from tests.conftest import write_app
from tests.melee.console.visitor import Visitor, rows, section, words

NASTY = [
    ("<script>alert(1)</script>", "<script>alert(1)</script>"),
    ("\"quoted\" 'twice' `thrice` &amp; {{ 7 * 7 }}", "\"quoted\" 'twice' `thrice` &amp; {{ 7 * 7 }}"),
    ("right\u202eto left \u2066and isolated", r"right\u202eto left \u2066and isolated"),
    ("nothing \x07 to \x1b[31m hear", r"nothing \x07 to \x1b[31m hear"),
    ("</details></td></table><h1>mine", "</details></td></table><h1>mine"),
]
"""What users may write, and what is read then."""


def test_each_kind_is_counted_those_without_jobs_and_without_a_class_too(visitor: Visitor) -> None:
    visitor.store(*[NewJob("send_welcome", "{}")] * 3, NewJob("old_import", "{}"))
    with opened_store(visitor.app.project) as connection:
        connection.jobs.claim(Wanted(["default"], ["send_welcome"]), 1, 60, "host/7")
    visitor.fail(NewJob("gone", "{}"))
    counts = section(visitor.page(), "jobs").find("table")
    assert counts
    assert rows(counts) == [
        ["gone unknown name", "0", "0", "1"],
        ["old_import unknown name", "1", "0", "0"],
        ["send_welcome", "2", "1", "0"],
        ["write_report", "0", "0", "0"],
    ]


def test_what_runs_is_shown_before_what_is_due_and_what_is_due_later(visitor: Visitor, under: AppUnderTest) -> None:
    visitor.store(NewJob("send_welcome", '{"user_id": 1}'), NewJob("send_welcome", "{}", priority=-1, in_seconds=600))
    visitor.store(NewJob("send_welcome", "{}", priority=5, queue="urgent"))
    with opened_store(visitor.app.project) as connection:
        connection.jobs.claim(Wanted(["default"], ["send_welcome"]), 1, 60, "host/7")
    _counts, waiting = section(visitor.page(), "jobs")("table")
    assert rows(waiting) == [
        ["1", "send_welcome", "default", "running in host/7", "1 of 5", "-", '{"user_id": 1}'],
        ["3", "send_welcome", "urgent", "due", "0 of 5", "-", "{}"],
        ["2", "send_welcome", "default", "due in 10 min", "0 of 5", "-", "{}"],
    ]


def test_each_job_of_an_unknown_kind_is_marked(visitor: Visitor) -> None:
    visitor.fail(NewJob("gone", "{}"))
    visitor.store(NewJob("old_import", "{}"), NewJob("send_welcome", "{}"))
    page = visitor.page()
    assert rows(section(page, "failed"))[0][1] == "gone unknown name"
    _counts, waiting = section(page, "jobs")("table")
    assert [row[1] for row in rows(waiting)] == ["old_import unknown name", "send_welcome"]


def test_a_failed_job_shows_the_first_line_of_its_error_and_the_whole_when_it_is_unfolded(
    visitor: Visitor, under: AppUnderTest
) -> None:
    visitor.fail(NewJob("send_welcome", '{"user_id": 7}'), error="ValueError: no such user\n\nTraceback:\n  line 7")
    under.clock.move(120)
    failed = section(visitor.page(), "failed")
    error = failed.find("details")
    assert error
    assert words(error.summary or error) == "ValueError: no such user …"
    assert error.pre
    assert error.pre.get_text() == "ValueError: no such user\n\nTraceback:\n  line 7"
    assert not error.has_attr("open")
    cells = rows(failed)[0]
    assert cells[:4] == ["1", "send_welcome", "2 min ago", "1 of 5"]
    assert cells[5:] == ['{"user_id": 7}', "Retry Discard"]


def test_the_newest_failure_is_first_and_the_rest_is_counted(visitor: Visitor, under: AppUnderTest) -> None:
    for _ in range(25):
        visitor.fail(NewJob("send_welcome", "{}"))
        under.clock.move(1)
    failed = section(visitor.page(), "failed")
    assert [row[0] for row in rows(failed)] == [str(id) for id in range(25, 5, -1)]
    assert "The newest failure first: 20 of 25" in words(failed)


def test_each_button_says_what_it_is_about(visitor: Visitor) -> None:
    visitor.fail(NewJob("send_welcome", "{}"))
    labels = [button["aria-label"] for button in section(visitor.page(), "failed")("button")]
    assert labels == ["Retry all failed jobs", "Retry job 1", "Discard job 1"]


def test_a_cron_job_shows_its_next_tick_in_both_zones(visitor: Visitor) -> None:
    # The clock stands at 2030-01-01 01:00 in Paris, a Tuesday.
    noon, daily = rows(section(visitor.page(), "cron"))
    assert noon[:4] == ["write_report", "0 12 * * *", "UTC", "in 12 h"]
    assert noon[4:] == ["2030-01-01 13:00:00 CET", "2030-01-01 12:00:00 UTC", '{"about":"noon"}']
    assert daily[:4] == ["write_report", "30 8 * * MON-FRI", "America/New_York", "in 13 h"]
    assert daily[4:] == ["2030-01-01 14:30:00 CET", "2030-01-01 13:30:00 UTC", '{"about":"daily"}']


def test_an_object_shows_its_timer_and_those_with_an_error_come_first(visitor: Visitor, under: AppUnderTest) -> None:
    stats: Any = under.classes["Stats"]
    stats.get("idle").hit()
    stats.get("later").wake(7_200)
    stats.get("soon").wake(60)
    stats.get("failed").wake(1)
    under.clock.move(2)
    under.fire_due()
    under.clock.move(59)
    assert rows(section(visitor.page(), "objects")) == [
        ["Stats", "failed", "failed", "-", "RuntimeError: the dog ate <b>it</b> 59 s ago"],
        ["Stats", "soon", "overdue", "1 s ago 2030-01-01 01:01:00 CET", "-"],
        ["Stats", "later", "waits", "in 1 h 2030-01-01 03:00:00 CET", "-"],
        ["Stats", "idle", "no timer", "-", "-"],
    ]


def test_an_object_whose_file_is_broken_is_shown_with_the_reason(visitor: Visitor, under: AppUnderTest) -> None:
    stats: Any = under.classes["Stats"]
    stats.get("visits").hit()
    under.evict("Stats", "visits")
    (file,) = under.project.data.glob("objects/stats/??/*.sqlite3")
    file.write_bytes(b"no database at all, but long enough to be read as one" * 100)
    stats.get("other").hit()
    broken, other = rows(section(visitor.page(), "objects"))
    assert broken[2] == "unreadable"
    assert "not a database" in broken[4]
    assert other[1] == "other"


def test_of_very_many_objects_a_part_is_shown_and_the_page_says_so(
    visitor: Visitor, under: AppUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("melee.console.objects.OBJECTS_AT_MOST", 3)
    stats: Any = under.classes["Stats"]
    for id in "abc":
        stats.get(id).hit()
    assert "these are not all" not in words(section(visitor.page(), "objects"))
    stats.get("d").hit()
    objects = section(visitor.page(), "objects")
    assert len(rows(objects)) == 3
    assert "these are not all, melee objects lists all" in words(objects)


def test_while_a_call_runs_the_objects_are_shown_as_they_were(visitor: Visitor, under: AppUnderTest) -> None:
    stats: Any = under.classes["Stats"]
    stats.get("visits").hit()
    host = under._host
    began, may_end = threading.Event(), threading.Event()

    def call() -> None:
        with host.turn:
            began.set()
            may_end.wait(60)

    def shown_meanwhile() -> str:
        thread = threading.Thread(target=call)
        thread.start()
        began.wait(60)
        try:
            return words(section(visitor.page(), "objects"))
        finally:
            may_end.set()
            thread.join()
            began.clear()
            may_end.clear()

    assert "A call of an object is running. They are shown when it has ended." in shown_meanwhile()
    assert "visits" in words(section(visitor.page(), "objects"))
    under.clock.move(30)
    meanwhile = shown_meanwhile()
    assert "as of 30 s ago" in meanwhile
    assert "visits" in meanwhile


def test_the_page_leaves_the_files_of_objects_as_they_were(visitor: Visitor, under: AppUnderTest) -> None:
    stats: Any = under.classes["Stats"]
    stats.get("visits").hit()
    under.evict("Stats", "visits")
    before = {path: path.stat().st_mtime_ns for path in under.project.data.glob("objects/stats/**/*")}
    visitor.page()
    assert {path: path.stat().st_mtime_ns for path in under.project.data.glob("objects/stats/**/*")} == before


def test_the_log_shows_what_this_process_logged_the_newest_first(visitor: Visitor, under: AppUnderTest) -> None:
    log.registry_rebuilt(3)
    log.timer_failed("Stats/visits", ValueError("no"), has_set_another=False)
    lines = section(visitor.page(), "log")("li")
    assert [line["class"] for line in lines] == [["error"], ["warning"]]
    assert words(lines[1]) == (
        "2030-01-01 01:00:00 CET warning: the registry of objects was rebuilt from their files objects=3"
    )


def test_the_log_shows_the_last_200_lines(visitor: Visitor) -> None:
    for number in range(201):
        log.registry_rebuilt(number)
    lines = section(visitor.page(), "log")("li")
    assert len(lines) == 200
    assert words(lines[0]).endswith("objects=200")
    assert words(lines[-1]).endswith("objects=1")


@pytest.mark.parametrize(("nasty", "shown"), NASTY)
def test_what_users_wrote_is_text_and_nothing_else(
    visitor: Visitor, under: AppUnderTest, nasty: str, shown: str
) -> None:
    visitor.fail(NewJob(nasty, nasty, queue="default"), error=nasty)
    visitor.store(NewJob(nasty, nasty, queue=nasty))
    visitor.run_sql("UPDATE melee_jobs SET worker = ?, last_error = ?, status = 'running' WHERE id = 2", nasty, nasty)
    stats: Any = under.classes["Stats"]
    stats.get(nasty).hit()
    log.call_failed(nasty, nasty, ValueError(nasty))
    page = visitor.page()
    before = {script.get("src") for script in page("script")}
    assert before == {"console.js"}
    assert len(page("h1")) == 1
    for part in ("jobs", "failed", "objects", "log"):
        assert shown in section(page, part).get_text()
    assert all(char.isprintable() or char == "\n" for char in page.get_text())


def test_nul_and_a_lone_surrogate_are_shown(visitor: Visitor) -> None:
    visitor.fail(NewJob("send_welcome", "{}"))
    visitor.run_sql("UPDATE melee_jobs SET last_error = ?, payload = ?", "a\0b", "c\0d")
    log.call_failed("Stats/\ud83d", "hit", ValueError("\ud83d\0"))
    page = visitor.page()
    assert rows(section(page, "failed"))[0][4:6] == [r"a\x00b", r"c\x00d"]
    assert r"Stats/\ud83d" in words(section(page, "log"))


def test_a_payload_of_a_megabyte_is_cut(visitor: Visitor) -> None:
    visitor.fail(*[NewJob("send_welcome", '{"note": "%s"}' % ("x" * 1_000_000))] * 20)
    response = visitor.get()
    assert len(response.data) < 500_000
    assert response.text.count("… (1,000,012 characters; the first 10,000 are shown)") == 20


def test_an_id_of_1024_letters_is_whole_behind_its_beginning(visitor: Visitor, under: AppUnderTest) -> None:
    stats: Any = under.classes["Stats"]
    stats.get("猫" * 1_024).hit()
    (id,) = section(visitor.page(), "objects")("th", scope="row")
    assert id.pre
    assert id.pre.get_text() == "猫" * 1_024
    assert id.summary
    assert len(id.summary.get_text()) < 130


def test_an_app_without_jobs_comes_up_and_makes_no_database(tmp_path: Path) -> None:
    folder = write_app(tmp_path / "small", "from melee import App\napp = App(__name__)")
    with AppUnderTest(folder) as under:
        page = Visitor(under.flask).page()
        assert "This app has no jobs." in words(section(page, "jobs"))
        assert "None." in words(section(page, "cron"))
        assert "There are none yet" in words(section(page, "objects"))
        assert "Nothing was logged" in words(section(page, "log"))
        assert not under.project.database.exists()


def test_with_a_broken_database_the_rest_comes_up_and_the_page_says_what_is_wrong(
    visitor: Visitor, under: AppUnderTest
) -> None:
    visitor.store(NewJob("send_welcome", "{}"))
    under.project.database.write_bytes(b"no database at all, but long enough to be read as one" * 100)
    for left in under.project.data.glob("app.sqlite3-*"):
        left.unlink()
    page = visitor.page()
    problem = section(page, "jobs").find(class_="problem")
    assert problem
    assert words(problem).startswith("This cannot be shown. DatabaseError: ")
    assert "not a database" in words(problem)
    assert len(rows(section(page, "cron"))) == 2
    assert visitor.order("jobs/retry").startswith("Nothing was done. DatabaseError: ")


def test_a_row_that_no_store_wrote_is_shown_as_a_problem_and_the_rest_comes_up(visitor: Visitor) -> None:
    visitor.store(NewJob("send_welcome", "{}"))
    visitor.run_sql("UPDATE melee_jobs SET due_at = 9e99")
    page = visitor.page()
    assert "This cannot be shown." in words(section(page, "jobs"))
    assert len(rows(section(page, "cron"))) == 2


def test_without_objects_hosted_here_the_page_says_that_the_app_does_not_load() -> None:
    page = Visitor(lambda _environ, _start: []).page()
    assert "the app does not load" in words(section(page, "objects"))


@pytest.mark.slow
def test_with_100_000_failed_jobs_the_page_takes_less_than_half_a_second(visitor: Visitor) -> None:
    visitor.fail(*[NewJob("send_welcome", '{"user_id": 7}')] * 100_000, error="ValueError: no\n" * 50)
    assert "20 of 100,000" in visitor.get().text
    # The quickest of a few, since this machine has other things to do, too.
    assert min(timeit.repeat(visitor.get, number=1, repeat=5)) < 0.5
