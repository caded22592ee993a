"""The console of `melee dev` in a real browser: with JavaScript and without, by day and night, on desk and phone."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import write_app
from tests.melee.cli.small_app import DevServer
from tests.site.visits import OVERFLOW, SCHEMES, Scheme, contrast, visitor

pytestmark = pytest.mark.browser

READABLE = 4.5  # WCAG 2, level AA, for small text

APP = """
from flask import request
from melee import App, Durable, Job

app = App(__name__)

class Stats(Durable):
    def wake(self, seconds):
        self.timer(after=seconds)

    def on_timer(self):
        raise RuntimeError("the <b>dog</b> ate it")

@app.jobs.register
class SendWelcome(Job):
    NAME = "send_welcome"
    user: str = ""
    key: str | None = None

    def unique_key(self):
        return self.key

    def run(self, resources): ...

app.jobs.cron("CRON_TZ=Europe/Paris 0 8 * * MON-FRI", SendWelcome(user="daily"))

@app.get("/fail")
def fail():
    job = SendWelcome(user=request.args["user"], key=request.args.get("key"))
    app.jobs.enqueue(job)
    error = "ValueError: no such user\\n\\nTraceback (most recent call last):\\n" + "  a line that is long\\n" * 20
    table = "melee_jobs"
    app.db.run(f"UPDATE {table} SET status = 'failed', failed_at = due_at, last_error = ?", error)
    return "failed"

@app.get("/enqueue")
def enqueue():
    app.jobs.enqueue(SendWelcome(user=request.args["user"], key=request.args.get("key")))
    return "enqueued"

@app.get("/old")
def old():
    table = "melee_jobs"
    app.db.run(f"UPDATE {table} SET name = 'old_import' WHERE id = 1")
    return "old"

@app.get("/wake")
def wake():
    Stats.get("<script>document.title = 'mine'</script>").wake(0)
    Stats.get("x" * 1024).wake(86_400)
    return "woken"
"""

# Each text that is seen, its colour and the first colour behind it that is not transparent.
TEXTS = """() => {
  const found = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement
    if (!text || !element.checkVisibility()) continue
    let behind = element
    while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") behind = behind.parentElement
    found.push([text.slice(0, 40), getComputedStyle(element).color, getComputedStyle(behind).backgroundColor])
  }
  return found
}"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DevServer]:
    folder = write_app(tmp_path / "small", APP)
    # Failed jobs are what is looked at here, not how they are run.
    (folder / "melee.toml").write_text("[jobs]\nworkers = 0\n")
    with DevServer(folder) as server:
        yield server


@contextmanager
def opened(browser: Browser, server: DevServer, *, width: int = 1280, scheme: Scheme = "light") -> Iterator[Page]:
    """The console in a browser; at the end, nothing was asked of another machine and nothing complained."""
    with visitor(browser, width=width, scheme=scheme) as (page, outside, complaints):
        page.goto(f"{server.url}_melee/")
        yield page
        assert outside == []
        assert complaints == []


@contextmanager
def without_script(browser: Browser, server: DevServer) -> Iterator[Page]:
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(f"{server.url}_melee/")
        yield page
    finally:
        context.close()


def fill(server: DevServer) -> None:
    """Something in every section: failed jobs, one of an unknown kind, a queued one, objects, lines of the log."""
    for user in ("ann", "bob", "<b>cy</b>"):
        assert server.get(f"fail?user={user}") == (200, "failed")
    server.get("old")
    server.get("enqueue?user=dan")
    server.get("wake")
    server.wait_for("ate it")


def test_without_javascript_every_button_works_and_says_what_came_of_it(browser: Browser, server: DevServer) -> None:
    server.get("fail?user=ann&key=a")
    server.get("fail?user=bob")
    server.get("fail?user=cy")
    server.get("enqueue?user=ann&key=a")
    with without_script(browser, server) as page:
        expect(page.get_by_role("button", name="Pause")).to_be_hidden()
        page.get_by_role("button", name="Discard job 3").click()
        expect(page.get_by_role("status")).to_have_text("Job 3 is deleted.")
        page.get_by_role("button", name="Retry job 1").click()
        expect(page.get_by_role("status")).to_have_text("Job 1 was left as it is: a newer job holds its key.")
        page.get_by_role("button", name="Retry all failed jobs").click()
        expect(page.get_by_role("status")).to_have_text("1 queued again, 1 left: a newer job holds its key.")
        # Loading it again does nothing again.
        page.reload()
        expect(page.locator("#failed tbody tr")).to_have_count(1)


def test_without_javascript_an_error_is_unfolded(browser: Browser, server: DevServer) -> None:
    server.get("fail?user=ann")
    with without_script(browser, server) as page:
        page.locator("#failed summary").click()
        expect(page.locator("#failed pre")).to_be_visible()


def test_with_javascript_a_button_says_what_came_of_it_and_stays_on_the_page(
    browser: Browser, server: DevServer
) -> None:
    server.get("fail?user=ann")
    server.get("fail?user=bob")
    with opened(browser, server) as page:
        page.evaluate("document.body.dataset.is = 'the same page'")
        page.get_by_role("button", name="Discard job 1").click()
        expect(page.get_by_role("status")).to_have_text("Job 1 is deleted.")
        # Its row is gone; the keyboard goes on with the one beside it.
        expect(page.get_by_role("button", name="Retry job 2")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("status")).to_have_text("Job 2 is queued again.")
        expect(page.locator("#said")).to_be_focused()
        expect(page.locator("#failed")).to_contain_text("No job has failed.")
        assert page.evaluate("document.body.dataset.is") == "the same page"
        assert page.url == f"{server.url}_melee/"


def test_it_stays_current_and_keeps_what_is_unfolded_focused_and_scrolled(browser: Browser, server: DevServer) -> None:
    fill(server)
    with opened(browser, server) as page:
        second = page.locator("#failed-2")
        second.locator("summary").click()
        button = page.get_by_role("button", name="Discard job 2")
        button.focus()
        page.evaluate("scrollTo({top: document.querySelector('#failed-3').offsetTop + 300, behavior: 'instant'})")
        top = button.bounding_box()
        server.get("fail?user=eve")
        expect(page.locator("#failed-5")).to_be_visible()
        # The newest failure has come above it, and the browser scrolled by as much.
        expect(second.locator("pre")).to_be_visible()
        expect(page.locator("#failed details[open]")).to_have_count(1)
        expect(button).to_be_focused()
        after = button.bounding_box()
        assert top
        assert after
        assert abs(after["y"] - top["y"]) < 2


def test_a_row_that_goes_takes_nothing_of_another_with_it(browser: Browser, server: DevServer) -> None:
    fill(server)
    with opened(browser, server) as page:
        page.locator("#failed-1 summary").click()
        page.get_by_role("button", name="Discard job 1").focus()
        page.request.post(f"{server.url}_melee/jobs/3/discard")
        expect(page.locator("#failed-3")).to_have_count(0)
        expect(page.locator("#failed-1 pre")).to_be_visible()
        expect(page.get_by_role("button", name="Discard job 1")).to_be_focused()


def test_a_double_click_discards_one_job(browser: Browser, server: DevServer) -> None:
    fill(server)
    with opened(browser, server) as page:
        page.clock.install(time=0)
        page.goto(f"{server.url}_melee/")
        page.clock.pause_at(60_000)
        page.get_by_role("button", name="Discard job 2").click()
        expect(page.get_by_role("status")).to_have_text("Job 2 is deleted.")
        # As the second click of a double one would, since this row has come up.
        page.get_by_role("button", name="Discard job 1").click()
        assert "failed-1" in server.get("_melee/")[1]
        page.clock.run_for(1_000)
        page.get_by_role("button", name="Discard job 1").click()
        expect(page.get_by_role("status")).to_have_text("Job 1 is deleted.")


def test_it_asks_only_while_it_is_looked_at_and_not_paused(browser: Browser, server: DevServer) -> None:
    with opened(browser, server) as page:
        page.clock.install()
        page.goto(f"{server.url}_melee/")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        with page.expect_response(f"{server.url}_melee/"):
            page.clock.run_for(2_000)
        hide = "Object.defineProperty(document, 'visibilityState', {value: %r, configurable: true})"
        page.evaluate(hide % "hidden")
        page.wait_for_timeout(0)
        asked.clear()
        page.clock.run_for(20_000)
        assert asked == []
        page.evaluate(hide % "visible")
        pause = page.get_by_role("button", name="Pause")
        pause.click()
        expect(pause).to_have_attribute("aria-pressed", "true")
        asked.clear()
        page.clock.run_for(20_000)
        assert asked == []
        with page.expect_response(f"{server.url}_melee/"):
            pause.click()


def test_a_server_that_is_gone_is_said_and_so_is_its_return(browser: Browser, server: DevServer) -> None:
    with visitor(browser) as (page, _outside, _complaints):
        page.goto(f"{server.url}_melee/")
        page.route("**/_melee/", lambda route: route.abort())
        expect(page.locator("#connection")).to_have_text("No answer, trying again.")
        page.unroute("**/_melee/")
        expect(page.locator("#connection")).to_have_text("")


def test_the_keyboard_reaches_everything_in_the_order_of_reading(browser: Browser, server: DevServer) -> None:
    fill(server)
    with opened(browser, server) as page:
        reached = []
        for _ in range(40):
            page.keyboard.press("Tab")
            reached.append(
                page.evaluate(
                    "document.activeElement.ariaLabel ?? document.activeElement.textContent.trim().slice(0, 30)"
                )
            )
        names = [name for name in reached if re.match("Pause|Retry|Discard|Log|ValueError", name)]
        assert names[:6] == ["Pause", "Log", "Retry all failed jobs", *names[3:6]]
        assert names[3].startswith("ValueError: no such user")
        assert names[4:6] == ["Retry job 3", "Discard job 3"]


def test_it_has_landmarks_and_each_table_has_a_name_and_heads(browser: Browser, server: DevServer) -> None:
    fill(server)
    with opened(browser, server) as page:
        for landmark in ("banner", "navigation", "main"):
            expect(page.get_by_role(landmark)).to_have_count(1)
        regions = page.get_by_role("region")
        assert [region.get_by_role("heading").first.text_content() for region in regions.all()] == [
            "Jobs",
            "Failed jobs",
            "Cron jobs",
            "Durable objects",
            "Log",
        ]
        for table in page.get_by_role("table").all():
            assert table.locator("caption").text_content()
            assert table.get_by_role("columnheader").count() > 3
            assert table.get_by_role("rowheader").count() > 0
        expect(page.get_by_role("status")).to_have_attribute("aria-live", "polite")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [1280, 390])
def test_every_text_is_readable_and_nothing_scrolls_sideways(
    browser: Browser, server: DevServer, screenshots: Path, scheme: Scheme, width: int
) -> None:
    fill(server)
    with opened(browser, server, width=width, scheme=scheme) as page:
        page.locator("#failed summary").first.click()
        page.get_by_role("button", name="Retry job 2").click()
        expect(page.get_by_role("status")).to_have_text("Job 2 is queued again.")
        texts = page.evaluate(TEXTS)
        assert len(texts) > 50
        assert {text for text, colour, behind in texts if contrast(colour, behind) < READABLE} == set()
        assert page.evaluate(OVERFLOW) <= 0
        # What others wrote did nothing.
        assert page.title() == "small · melee console"
        page.screenshot(path=screenshots / f"console-{width}-{scheme}.png", full_page=True)
