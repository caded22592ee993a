"""Numbers that stand in sentences of the guide are those of the code."""

import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from melee import http
from melee.cli.dev import LOOK_SECONDS
from melee.cli.serve import serve
from melee.clock import ManualClock
from melee.console.jobs import FAILED_AT_MOST, WAITING_AT_MOST
from melee.console.log_tail import LINES_AT_MOST
from melee.console.objects import OBJECTS_AT_MOST
from melee.console.text import LETTERS_AT_MOST
from melee.jobs.bell import PostgresBell, SqliteBell
from melee.jobs.job import Job
from melee.jobs.retry import pause_seconds
from melee.jobs.upkeep import LEASE_SECONDS, LOOKS_IN_A_LEASE
from melee.objects.registry import RETRY_SECONDS_AT_MOST
from melee.objects.request import CALL_SECONDS, ID_CHARACTERS_AT_MOST
from melee.processes.supervisor import PAUSE_SECONDS_AT_MOST
from melee.project import Config, JobsConfig, ObjectsConfig, ServerConfig, WebConfig
from melee.server.wakeups import AHEAD_SECONDS
from melee.store.connection import BUSY_SECONDS
from melee.testing import COMMIT_POINTS
from melee.web.body import BODY_BYTES_AT_MOST
from melee.web.limits import CONNECTIONS_AT_MOST, HEADER_BYTES_AT_MOST, URL_BYTES_AT_MOST
from melee.web.scratch import SCRATCH_BYTES_AT_MOST
from melee_examples.board.lib.stats import KEPT_DAYS
from melee_examples.feed.lib import refresher
from melee_examples.feed.lib.refresher import EVERY_SECONDS
from melee_examples.signup.lib.outbox import (
    ATTEMPTS_AT_MOST,
    IDLE_SECONDS,
    JOBS_AT_ONCE,
    PENDING_SECONDS,
    SOON_SECONDS,
)
from snippets.what_melee_cannot_do.importing import LINES_AT_ONCE
from tests.crash.test_outbox import SIGNUPS

DOCS = Path(__file__).parents[2] / "docs"
DURABLE = "guide/durable-objects.md"
SERVING = "guide/serving.md"
CANNOT = "guide/what-melee-cannot-do.md"
BACKGROUND = "guide/background-work.md"
JOBS = "guide/jobs.md"
CHOICE = "guide/jobs-or-timers.md"
DEFAULTS, WEB, SERVER, WORK = ObjectsConfig(), WebConfig(), ServerConfig(), JobsConfig()
CONSOLE = "reference/console.md"
WORDS = {1: "once a second", 5: "five seconds", 60: "a minute", 600: "ten minutes"}
NUMBERS = {4: "Four", 5: "five"}
PAUSES = [int(pause_seconds(attempt)) for attempt in range(1, Job.MAX_ATTEMPTS)]
MINUTES_OF_ALL_TRIES = round(sum(PAUSES) / 60)
PORT = next(option.default for option in serve.params if option.name == "port")


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        (DURABLE, f"any text from 1 to {ID_CHARACTERS_AT_MOST:,} characters"),
        (DURABLE, f"no answer in {CALL_SECONDS} seconds"),
        (DURABLE, f"when nobody calls it** for {WORDS[int(DEFAULTS.idle_seconds)]}"),
        (DURABLE, f"when more than {DEFAULTS.open_at_most} objects are open"),
        (DURABLE, f"2, 4, 8 seconds, up to {RETRY_SECONDS_AT_MOST // 60} minutes"),
        (SERVING, f"The port is {PORT} if you"),
        (SERVING, f"**It takes a slot.** There are {WEB.slots}."),
        (SERVING, f"has a budget of {WEB.budget_seconds} seconds"),
        (SERVING, f"body is larger than {BODY_BYTES_AT_MOST // 1024**2} MiB"),
        (SERVING, f"address is longer than {URL_BYTES_AT_MOST // 1024} KiB"),
        (SERVING, f"headers are larger than {HEADER_BYTES_AT_MOST // 1024} KiB"),
        (SERVING, f"All together they hold {SCRATCH_BYTES_AT_MOST // 1024**3} GiB at most"),
        (SERVING, f"more than {WEB.backlog} requests wait"),
        (SERVING, f"more than {CONNECTIONS_AT_MOST:,} clients"),
        (SERVING, f"the {WEB.budget_seconds} seconds were over"),
        (SERVING, f"{NUMBERS[WEB.slots]} requests at once"),
        (SERVING, f"after {SERVER.sleep_after_seconds} seconds, if"),
        (SERVING, f"in the next {SERVER.sleep_after_seconds} either"),
        (SERVING, f"started 1 to {AHEAD_SECONDS} seconds ahead"),
        (SERVING, f"have {SERVER.grace_seconds} seconds to end"),
        (SERVING, f"killed after {SERVER.grace_seconds} seconds, which is just what melee may need"),
        (SERVING, f"after longer and longer ones, up to {PAUSE_SECONDS_AT_MOST} seconds"),
        (CONSOLE, f"{FAILED_AT_MOST} failed jobs, {WAITING_AT_MOST} jobs that wait, {OBJECTS_AT_MOST} objects"),
        (CONSOLE, f"the last {LINES_AT_MOST} lines"),
        (CONSOLE, f"more than {LETTERS_AT_MOST:,} characters"),
        (CANNOT, f"longer than {WEB.budget_seconds} seconds"),
        (CANNOT, f"the same {WEB.budget_seconds} seconds"),
        (CANNOT, f"upload above {BODY_BYTES_AT_MOST // 1024**2} MiB"),
        (CANNOT, f"takes {LINES_AT_ONCE} lines"),
        (CANNOT, f"takes the next {LINES_AT_ONCE}"),
        (BACKGROUND, f"always: {http.TIMEOUT_SECONDS:g} seconds"),
        (BACKGROUND, f"whole request has {WEB.budget_seconds} seconds"),
        (BACKGROUND, f"one of {WEB.slots} slots.** {NUMBERS[WEB.slots]} visitors"),
        (BACKGROUND, f"fetches it every {WORDS[EVERY_SECONDS]}"),
        (BACKGROUND, f"next look, up to {WORDS[IDLE_SECONDS]}"),
        (BACKGROUND, f"takes up to {JOBS_AT_ONCE} jobs"),
        (BACKGROUND, f"After {NUMBERS[ATTEMPTS_AT_MOST]} failures"),
        (BACKGROUND, f"about {(ATTEMPTS_AT_MOST - 1) * PENDING_SECONDS} seconds"),
        (BACKGROUND, {1: "about a second later"}[SOON_SECONDS]),
        (BACKGROUND, f"after {PENDING_SECONDS} seconds if something is left, after {WORDS[IDLE_SECONDS]} if not"),
        (BACKGROUND, f"next timer is more than {SERVER.sleep_after_seconds / 60:g} minutes away"),
        ("examples/feed.md", f"fetches it every {WORDS[EVERY_SECONDS]}"),
        ("examples/feed.md", f"up to {refresher.TIMEOUT_SECONDS} seconds"),
        ("examples/feed.md", {300: "Above five minutes"}[int(SERVER.sleep_after_seconds)]),
        ("examples/signup.md", f"after {NUMBERS[ATTEMPTS_AT_MOST]} failures**"),
        ("examples/signup.md", f"about {(ATTEMPTS_AT_MOST - 1) * PENDING_SECONDS} seconds"),
        ("examples/signup.md", {60: "once a minute"}[IDLE_SECONDS]),
        ("examples/board.md", f"kept for {KEPT_DAYS} days"),
        (JOBS, f"There are {WORK.workers}, if `melee.toml` does not say otherwise"),
        (JOBS, f"has it for {LEASE_SECONDS} seconds, and renews that every {LEASE_SECONDS // LOOKS_IN_A_LEASE}"),
        (JOBS, f"{LEASE_SECONDS} seconds later, or a little more, the job is free"),
        (JOBS, f"A killed worker costs {LEASE_SECONDS} seconds"),
        (JOBS, {5: "ended within a few seconds"}[LEASE_SECONDS // LOOKS_IN_A_LEASE]),
        (JOBS, {5: "Five attempts are the default"}[Job.MAX_ATTEMPTS]),
        (JOBS, f"fails for good after about {MINUTES_OF_ALL_TRIES} minutes"),
        (JOBS, f"grace period of {SERVER.grace_seconds} seconds"),
        (JOBS, f"it looks every {1000 * SqliteBell.look_seconds:g} ms"),
        (JOBS, {1: "looks once a second"}[int(PostgresBell.look_seconds)]),
        (CHOICE, f"| {WEB.slots} requests | one for each object | {WORK.workers}, or as many as you say |"),
        (CHOICE, f"| {WEB.budget_seconds} seconds | it holds up"),
        (CHOICE, f"one of {WEB.slots} slots is held"),
        ("guide/testing.md", f"before {datetime.fromtimestamp(ManualClock().now(), UTC):%-d %B %Y} until you move it"),
        ("guide/testing.md", f"There are [{ {6: 'six'}[len(COMMIT_POINTS)] } such moments]"),
        ("examples/welcome.md", f"five tries, about {MINUTES_OF_ALL_TRIES} minutes"),
        (BACKGROUND, f"In a test, {SIGNUPS} people sign up"),
        ("guide/database.md", f"for up to {BUSY_SECONDS} seconds"),
        ("reference/commands.md", f"bout {WORDS[LOOK_SECONDS]}"),
        ("reference/errors.md", f"for more than {WORDS[BUSY_SECONDS]}"),
        ("tutorial/5-work-that-happens-on-its-own.md", f"bout {WORDS[LOOK_SECONDS]}"),
    ],
)
def test_a_number_in_a_sentence_is_the_one_in_the_code(page: str, sentence: str) -> None:
    assert sentence in (DOCS / page).read_text()


@pytest.mark.parametrize("file", ["README.md", "CONTRIBUTING.md", "melee_examples/board/README.md"])
def test_the_python_that_a_reader_needs_is_the_one_that_pip_asks_for(file: str) -> None:
    oldest = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["project"]["requires-python"]
    assert f"You need Python {oldest.removeprefix('>=')} or newer" in (DOCS.parent / file).read_text()


@pytest.mark.parametrize("app", ["welcome", "digest"])
def test_an_example_says_after_which_pauses_a_job_is_tried_again(app: str) -> None:
    readme = (DOCS.parent / "melee_examples" / app / "README.md").read_text()
    assert f"tried again after {', '.join(map(str, PAUSES[:-1]))} and {PAUSES[-1]} seconds" in readme


def test_the_table_of_melee_toml_has_each_key_with_its_default_and_no_other() -> None:
    page = (DOCS / "reference" / "commands.md").read_text()
    listed = dict(re.findall(r"^\| `(\[\w+\] \w+)` \| ([^|]+) \|", page, re.MULTILINE))
    sections = msgspec.to_builtins(Config())
    defaults = {f"[{name}] {key}": value for name, section in sections.items() for key, value in section.items()}
    in_words = {"[app] timezone": "the machine's", "[server] trusted_proxies": "none", "[server] metrics": "off"}
    assert listed == {key: in_words.get(key, f"{value}") for key, value in defaults.items()}


def test_the_board_keeps_as_many_days_as_its_readme_says() -> None:
    board = DOCS.parent / "melee_examples" / "board"
    kept = re.search(r"KEPT_DAYS = (\d+)", (board / "lib" / "stats.py").read_text())
    assert kept
    assert f"of the {kept[1]} days before it" in (board / "README.md").read_text()
