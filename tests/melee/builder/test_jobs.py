"""Jobs that would be refused when the app runs are found before: each at its place, and nothing that may be right."""

from pathlib import Path

import pytest

from melee.builder import guide
from melee.builder.classes import job_classes
from melee.builder.jobs import findings
from melee.builder.source import Finding
from tests.melee.builder.an_app import place_of, places, sources_of, sources_with_one_unread

APP = "from melee import App, Job\nfrom jobs.mail import Mail\n\napp = App(__name__)\n"
MAIL = (
    "from melee import Job\n\n\nclass Mail(Job):\n    NAME = 'mail'\n    to: int\n\n    def run(self, resources): ...\n"
)
REGISTERED = "app.jobs.register(Mail)\n"


def found_in(folder: Path, **files: str) -> list[Finding]:
    sources = sources_of(folder, **({"app": APP + REGISTERED, "jobs__mail": MAIL} | files))
    return findings(sources, job_classes(sources))


def job(name: str, label: str, base: str = "Job") -> str:
    return f"class {name}({base}):\n    NAME = {label!r}\n\n    def run(self, resources): ...\n\n\n"


@pytest.mark.parametrize(
    "line",
    [
        "app.jobs.enqueue(Mail(to=1))",
        "app.jobs.enqueue_in(Mail(to=1), 60)",
        "app.jobs.enqueue_at(Mail(to=1), now())",
        "app.jobs.enqueue_many([Mail(to=1)])",
        "app.jobs.enqueue_many(Mail(to=id) for id in ids)",
        "def f(resources):\n    resources.jobs.enqueue(Mail(to=1))",
        "from flask import current_app\ncurrent_app.jobs.enqueue(Mail(to=1))",
        "from flask import current_app\njobs = current_app.jobs\njobs.enqueue(Mail(to=1))",
    ],
)
def test_a_job_that_is_enqueued_and_not_registered_is_found_where_it_is_made(tmp_path: Path, line: str) -> None:
    found = found_in(tmp_path, app=f"{APP}{line}\n")
    assert places(found) == [place_of(tmp_path, "Mail(to=")]
    problem = "Mail is not registered; write app.jobs.register(Mail)"
    assert found[0].problem == f"{problem} (see {guide.JOBS})"
    assert found_in(tmp_path, app=f"{APP}{REGISTERED}{line}\n") == []


@pytest.mark.parametrize(
    "registration",
    [
        "app.jobs.register(Mail)",
        "app.jobs.register(cls=Mail)",
        "from flask import current_app\ndef f():\n    current_app.jobs.register(Mail)",
        "jobs = app.jobs\njobs.register(Mail)",
        "import jobs.mail as m\napp.jobs.register(m.Mail)",
        "app.jobs.cron('0 8 * * *', Mail(to=1))",
        "app.jobs.cron(expression='0 8 * * *', job=Mail(to=1))",
        # What only a run would show.
        "for cls in (Mail,):\n    app.jobs.register(cls)",
        "list(map(app.jobs.register, [Mail]))",
        "register = app.jobs.register\nregister(Mail)",
        "mail = Mail(to=1)\napp.jobs.cron('0 8 * * *', mail)",
        "def f(signals):\n    signals.register(print)",
    ],
)
def test_a_class_that_is_or_may_be_registered_is_fine(tmp_path: Path, registration: str) -> None:
    assert found_in(tmp_path, app=f"{APP}{registration}\napp.jobs.enqueue(Mail(to=1))\n") == []


def test_a_class_that_is_registered_where_it_is_defined_is_fine(tmp_path: Path) -> None:
    app = "from melee import App\nfrom lib.registering import registered\napp = App(__name__)\n"
    for decorator in ("app.jobs.register", "registered"):
        own = MAIL.replace("class Mail", f"@{decorator}\nclass Mail").replace("to: int", "")
        assert found_in(tmp_path, jobs__mail="", app=f"{app}{own}\napp.jobs.enqueue(Mail())\n") == []


def test_a_register_of_something_else_registers_no_job(tmp_path: Path) -> None:
    app = f"import atexit\n{APP}atexit.register(print)\napp.jobs.enqueue(Mail(to=1))\n"
    assert places(found_in(tmp_path, app=app)) == [place_of(tmp_path, "Mail(to=")]


def test_what_is_no_job_of_the_app_may_be_enqueued_anywhere(tmp_path: Path) -> None:
    app = f"from elsewhere import queue, Other\n{APP}{REGISTERED}queue.enqueue(print)\nqueue.enqueue(Other())\n"
    assert found_in(tmp_path, app=f"{app}app.jobs.enqueue()\napp.jobs.enqueue(*[])\n") == []


def test_a_module_that_cannot_be_read_may_register_a_class(tmp_path: Path) -> None:
    sources = sources_with_one_unread(tmp_path, app=f"{APP}app.jobs.enqueue(Mail(to=1))\n", jobs__mail=MAIL)
    assert findings(sources, job_classes(sources)) == []


@pytest.mark.parametrize(
    "expression", ["0 8 * *", "0 8 * * MOON", "0 0 30 2 *", "CRON_TZ=Mars/Base 0 8 * * *", "", "every day"]
)
def test_a_cron_expression_that_is_none_is_found_where_it_is_written(tmp_path: Path, expression: str) -> None:
    for line in (f"app.jobs.cron({expression!r}, Mail(to=1))", f"AT = {expression!r}\napp.jobs.cron(AT, Mail(to=1))"):
        found = found_in(tmp_path, app=f"é = 1\n{APP}{line}\n")
        assert [finding[:3] for finding in found] == [place_of(tmp_path, repr(expression))]
        assert found[0].problem.startswith(f"cron({expression!r}): ")
        assert found[0].problem.endswith(f"(see {guide.CRON})")


@pytest.mark.parametrize(
    "line",
    [
        "app.jobs.cron('0 8 * * MON-FRI', Mail(to=1))",
        "app.jobs.cron('CRON_TZ=+01:00 0 8 * * MON', Mail(to=1))",
        "import os\napp.jobs.cron(os.environ['AT'], Mail(to=1))",
        "from elsewhere import scheduler\nscheduler.cron('@daily', print)",
        "def f(scheduler):\n    scheduler.cron('@daily', print)",
    ],
)
def test_a_schedule_that_is_right_or_cannot_be_known_is_left_alone(tmp_path: Path, line: str) -> None:
    assert found_in(tmp_path, app=f"{APP}{line}\n") == []


def test_a_schedule_of_a_job_that_cannot_be_known_is_read_all_the_same(tmp_path: Path) -> None:
    found = found_in(tmp_path, app=f"{APP}mail = Mail(to=1)\napp.jobs.cron('0 8', mail)\n")
    assert places(found) == [place_of(tmp_path, "'0 8'")]


@pytest.mark.parametrize("use", [REGISTERED, "app.jobs.cron('0 8 * * *', Mail(to=1))\n", ""])
def test_a_job_without_a_name_is_found_at_its_class(tmp_path: Path, use: str) -> None:
    found = found_in(tmp_path, app=APP + use, jobs__mail=MAIL.replace("    NAME = 'mail'\n", ""))
    assert places(found) == [place_of(tmp_path, "class Mail", "jobs/mail.py")]
    problem = "Mail has no NAME, by which the database knows it; write one such as 'send_welcome'"
    assert found[0].problem == f"{problem} (see {guide.JOBS})"


@pytest.mark.parametrize(
    "mail",
    [
        # A class to be derived from, and the one that is.
        f"class Base(Job):\n    def run(self, r): ...\n\n\n{job('Mail', 'mail', 'Base')}",
        "class Base(Job):\n    NAME = 'mail'\n\n\nclass Mail(Base):\n    def run(self, r): ...\n",
        "from elsewhere import Named\n\n\nclass Mail(Named, Job):\n    def run(self, r): ...\n",
        "from elsewhere import named\n\n\n@named\nclass Mail(Job):\n    def run(self, r): ...\n",
        "class Mail(Job):\n    def run(self, r): ...\n\n\nMail.NAME = 'mail'\n",
        "from typing import ClassVar\n\n\nclass Mail(Job):\n    NAME: ClassVar[str] = 'mail'\n",
    ],
)
def test_a_job_that_has_or_may_have_a_name_is_left_alone(tmp_path: Path, mail: str) -> None:
    assert found_in(tmp_path, jobs__mail=f"from melee import Job\n{mail}") == []


def test_a_class_without_a_run_may_be_there_to_be_derived_from_elsewhere(tmp_path: Path) -> None:
    assert found_in(tmp_path, lib__base="from melee import Job\n\nclass Base(Job):\n    QUEUE = 'mails'\n") == []


def test_two_jobs_of_one_name_are_found_at_the_second(tmp_path: Path) -> None:
    other = f"from melee import Job\n\n\n{job('Post', 'mail')}"
    app = f"from jobs.post import Post\n{APP}{REGISTERED}app.jobs.register(Post)\n"
    found = found_in(tmp_path, app=app, jobs__post=other)
    assert places(found) == [place_of(tmp_path, "NAME", "jobs/post.py")]
    problem = "Post: jobs.mail.Mail is called 'mail', too; give one of them another NAME"
    assert found[0].problem == f"{problem} (see {guide.JOBS})"


def test_a_name_that_is_inherited_by_a_registered_class_is_given_twice(tmp_path: Path) -> None:
    app = f"{APP}class Post(Mail):\n    pass\n\n{REGISTERED}app.jobs.register(Post)\n"
    assert places(found_in(tmp_path, app=app)) == [place_of(tmp_path, "class Post")]


def test_a_class_that_is_not_registered_takes_no_name_away(tmp_path: Path) -> None:
    assert found_in(tmp_path, lib__old=f"from melee import Job\n\n\n{job('OldMail', 'mail')}") == []


def test_where_any_class_may_be_registered_two_of_one_name_are_found(tmp_path: Path) -> None:
    app = f"{APP}for cls in Job.__subclasses__():\n    app.jobs.register(cls)\n"
    found = found_in(tmp_path, app=app, lib__old=f"from melee import Job\n\n\n{job('OldMail', 'mail')}")
    assert places(found) == [place_of(tmp_path, "NAME", "lib/old.py")]
