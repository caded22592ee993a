"""Work that would not outlive its request is refused by name, where it stands; names that look alike are not."""

from pathlib import Path

import pytest

from melee.builder import guide
from melee.builder.classes import durable_classes, job_classes
from melee.builder.refusals import NAMES, PACKAGES, findings
from melee.builder.source import Finding
from tests.melee.builder.an_app import place_of, places, sources_of, sources_with_one_unread


def found_in(folder: Path, **files: str) -> list[Finding]:
    sources = sources_of(folder, **files)
    return findings(sources, durable_classes(sources), job_classes(sources))


@pytest.mark.parametrize(
    ("line", "mark", "name", "anchor"),
    [
        ("import threading\nthreading.Thread(target=print)", "threading.Thread", "threading.Thread", guide.THREADS),
        ("import threading as t\nt.Timer(1, print)", "t.Timer", "threading.Timer", guide.THREADS),
        ("from threading import Thread\nThread()", "Thread()", "threading.Thread", guide.THREADS),
        ("from threading import Thread as T\ndef f():\n    T()", "T()", "threading.Thread", guide.THREADS),
        ("def f():\n    import threading\n    threading.Thread()", "threading.Th", "threading.Thread", guide.THREADS),
        ("import threading\nclass W(threading.Thread): ...", "threading.Th", "threading.Thread", guide.THREADS),
        ("import threading\nT = threading.Thread\nx = T()", "T()", "threading.Thread", guide.THREADS),
        ("import threading\ndef f():\n    T = threading.Thread", "threading.T", "threading.Thread", guide.THREADS),
        ("import threading\nx = [threading.Thread() for _ in 'ab']", "threading.T", "threading.Thread", guide.THREADS),
        ("from _thread import start_new_thread as s\ns(print, ())", "s(print", "_thread.start_new", guide.THREADS),
        ("from threading import *\nThread()", "Thread()", "threading.Thread", guide.THREADS),
        ("from os import *\nfrom threading import *\nTimer(1, f)", "Timer(", "threading.Timer", guide.THREADS),
        ("from threading import *\nfrom os import *\nTimer(1, f)", "Timer(", "threading.Timer", guide.THREADS),
        ("def f():\n    import threading as t\n    t.Thread()", "t.Thread", "threading.Thread", guide.THREADS),
        ("import importlib as i\ni.import_module('queue').Queue()", "i.import", "queue.Queue", guide.QUEUES),
        ("q = __import__('queue')\nq.Queue()", "q.Queue", "queue.Queue", guide.QUEUES),
        ("from gevent import *\nspawn(print)", "spawn(", "gevent.spawn", guide.THREADS),
        (
            "import threading\ndef f():\n    threading.Thread()\n    return [t for t in (lambda threading: 1,)]",
            "threading.Thread",
            "threading.Thread",
            guide.THREADS,
        ),
        ("from multiprocessing.dummy import Pool\nPool()", "Pool()", "multiprocessing.dummy.Pool", guide.THREADS),
        ("import gevent\ngevent.spawn(print)", "gevent.spawn", "gevent.spawn", guide.THREADS),
        ("import eventlet\neventlet.spawn_n(print)", "eventlet.spawn", "eventlet.spawn_n", guide.THREADS),
        ("import queue\nq = queue.Queue()", "queue.Queue", "queue.Queue", guide.QUEUES),
        ("from queue import SimpleQueue\nSimpleQueue()", "SimpleQueue()", "queue.SimpleQueue", guide.QUEUES),
        ("import multiprocessing as m\nm.JoinableQueue()", "m.J", "multiprocessing.JoinableQueue", guide.QUEUES),
        ("from multiprocessing import Pool\nPool(4)", "Pool(4)", "multiprocessing.Pool", guide.PROCESSES),
        (
            "import concurrent.futures\nconcurrent.futures.ProcessPoolExecutor()",
            "concurrent.futures.P",
            "concurrent.futures.ProcessPoolExecutor",
            guide.PROCESSES,
        ),
        (
            "from concurrent import futures\nwith futures.ThreadPoolExecutor() as pool: ...",
            "futures.T",
            "concurrent.futures.ThreadPoolExecutor",
            guide.THREADS,
        ),
        ("import os\nif os.fork() == 0: ...", "os.fork", "os.fork", guide.PROCESSES),
        ("import asyncio\nasyncio.create_task(f())", "asyncio.create", "asyncio.create_task", guide.ASYNC_TASKS),
        ("from asyncio import TaskGroup\nTaskGroup()", "TaskGroup()", "asyncio.TaskGroup", guide.ASYNC_TASKS),
        (
            "import asyncio\nasyncio.get_event_loop().create_task(f())",
            "asyncio.get_event_loop().create",
            "asyncio loop.create_task",
            guide.ASYNC_TASKS,
        ),
        (
            "import asyncio\nasync def f():\n    loop = asyncio.get_running_loop()\n    loop.run_in_executor(None, f)",
            "loop.run_in",
            "asyncio loop.run_in_executor",
            guide.THREADS,
        ),
        ("import sched", "sched", "sched", guide.SCHEDULERS),
        ("import json, schedule", "schedule", "schedule", guide.SCHEDULERS),
        (
            "from apscheduler.schedulers.background import BackgroundScheduler",
            "from aps",
            "apscheduler",
            guide.SCHEDULERS,
        ),
        ("def f():\n    import celery.schedules as when", "celery", "celery", guide.JOB_SYSTEMS),
        (
            "from importlib import import_module\nx = import_module('celery')",
            "import_module(",
            "celery",
            guide.JOB_SYSTEMS,
        ),
        ("__import__('rq.worker')", "__import__", "rq", guide.JOB_SYSTEMS),
        ("try:\n    from rq import Queue\nexcept ImportError: ...", "from rq", "rq", guide.JOB_SYSTEMS),
    ],
)
def test_it_is_refused_where_it_stands(tmp_path: Path, line: str, mark: str, name: str, anchor: str) -> None:
    found = found_in(tmp_path, app=f"name = 'é'; {line}\n" if "\n" not in line else line)
    assert places(found) == [place_of(tmp_path, mark)]
    assert found[0].problem.startswith(name)
    assert found[0].problem.endswith(f"(see {anchor})")


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_for_work_elsewhere_is_refused_at_its_import(tmp_path: Path, package: str) -> None:
    assert len(found_in(tmp_path, app=f"import {package}\n{package}.start()")) == 1


@pytest.mark.parametrize("name", [name for name in NAMES if " " not in name])
def test_a_name_is_refused_at_its_use_and_not_at_its_import(tmp_path: Path, name: str) -> None:
    module, _, last = name.rpartition(".")
    found = found_in(tmp_path, app=f"from {module} import {last}\n{last}()\n")
    assert [finding.line for finding in found] == [2]


@pytest.mark.parametrize(
    "text",
    [
        "import threading\nlock, here = threading.Lock(), threading.local()",
        "import asyncio\nasyncio.run(asyncio.sleep(0))",
        "import subprocess\nsubprocess.run(['ls'])",
        "import queue\ntry: ...\nexcept queue.Empty: ...",
        "import threading\ndef f(thread: threading.Thread) -> threading.Thread | None:\n    it: threading.Thread",
        "from threading import Thread",
        "from threading import *\nLock()",
        "from threading import *\nclass Thread: ...\nThread()",
        "from threading import *\nThread, other = print, 1\nThread()",
        "from threading import *\ndef f(Thread):\n    Thread()",
        "from gevent import *\ndef f():\n    spawn = print\n    spawn()",
        "import importlib\nimportlib.import_module('lib.queue').Queue()",
        "def import_module(name): ...\nimport_module('celery')",
        "class Thread: ...\nThread()",
        "import threading\ndef f(threading):\n    return lambda: threading.Thread()",
        "def f(threading):\n    threading.Thread()",
        "import queue\nx = [queue.Queue for queue in ()]",
        "import os\nos.path.join('fork')",
        "class Loop:\n    def create_task(self): ...\nloop = Loop()\nloop.create_task()",
        "from lib.schedule import every\nevery(1)",
        "def celery(): ...\ncelery()",
        "rq = 1",
        "'import celery'",
    ],
)
def test_what_is_fine_or_merely_looks_alike_is_left_alone(tmp_path: Path, text: str) -> None:
    assert found_in(tmp_path, app=text) == []


def test_modules_of_the_app_may_have_the_names_of_packages(tmp_path: Path) -> None:
    lib = "from . import queue, rq\nqueue.Queue()\nrq.Worker()"
    app = "import schedule\nimport queue\nfrom lib import queue as q\nqueue.Queue()\nq.Queue()"
    own = "class Queue: ..."
    assert found_in(tmp_path, app=app, schedule="", queue=own, lib__queue=own, lib__rq=own, lib__x=lib) == []


def test_a_module_of_the_app_that_cannot_be_read_keeps_its_name(tmp_path: Path) -> None:
    sources = sources_with_one_unread(tmp_path, "schedule.py", app="import schedule\nschedule.every(1)")
    assert findings(sources, [], []) == []


def test_a_relative_import_of_everything_is_of_the_app(tmp_path: Path) -> None:
    lib = {"lib/__init__": "", "lib/work": "import queue\nQueue = queue.Queue", "lib/x": "from .work import *\nQueue()"}
    assert places(found_in(tmp_path, **lib)) == [place_of(tmp_path, "Queue()", "lib/x.py")]


def test_a_name_that_another_module_of_the_app_hands_on_is_known(tmp_path: Path) -> None:
    found = found_in(tmp_path, app="from lib import Worker\nWorker()", lib="import queue as q\nWorker = q.Queue")
    assert places(found) == [place_of(tmp_path, "Worker()")]


OBJECT = "from melee import Durable\n"


@pytest.mark.parametrize(
    ("files", "mark"),
    [
        ({"lib__stats": f"{OBJECT}from app import app\nclass S(Durable):\n    def f(self): app.db.run('')"}, "app.db"),
        (
            {
                "app": "from melee import App\napp = App(__name__)\ndb = app.db",
                "lib__stats": f"{OBJECT}from app import db\nclass S(Durable):\n    def f(self): db.run('')",
            },
            "db.run",
        ),
        (
            {
                "lib__stats": f"{OBJECT}class S(Durable):\n    def f(self):\n"
                "        from app import app as a\n        a.db.run('')"
            },
            "a.db",
        ),
        (
            {
                "lib__stats": f"{OBJECT}from flask import current_app\nclass S(Durable):\n"
                "    def f(self):\n        db = current_app.db\n        db.run('')"
            },
            "current_app.db",
        ),
    ],
)
def test_the_database_of_the_app_is_refused_inside_a_durable_object(
    tmp_path: Path, files: dict[str, str], mark: str
) -> None:
    found = found_in(tmp_path, **files)
    assert places(found) == [place_of(tmp_path, mark, "lib/stats.py")]
    assert "use self.storage" in found[0].problem


def test_the_database_of_an_app_that_another_module_makes_is_the_same(tmp_path: Path) -> None:
    method = "class S(Durable):\n    def f(self): app.db.run('')"
    lib = {
        "lib__core": "from melee import App\napp = App('x')",
        "lib__s": f"{OBJECT}from lib.core import app\n{method}",
    }
    found = found_in(tmp_path, app="from lib.core import app", **lib)
    assert places(found) == [place_of(tmp_path, "app.db", "lib/s.py")]


def test_the_database_of_the_app_is_fine_everywhere_else(tmp_path: Path) -> None:
    lib = (
        f"{OBJECT}from app import app\ndef f(): app.db.run('')\nclass Stats(Durable):\n    def f(self, db): db.run('')"
    )
    assert found_in(tmp_path, lib__stats=lib) == []


JOB = "import asyncio, os, threading\nfrom melee import Job\n"
RUN = "class Mail(Job):\n    NAME = 'mail'\n    async def run(self, resources):\n        "


@pytest.mark.parametrize(
    "line",
    [
        "await asyncio.create_task(f())",
        "async with asyncio.TaskGroup() as group: group.create_task(f())",
        "await asyncio.to_thread(f)",
        "await asyncio.get_running_loop().run_in_executor(None, f)",
        "queue = asyncio.Queue()",
    ],
)
def test_asyncio_is_a_jobs_own(tmp_path: Path, line: str) -> None:
    assert found_in(tmp_path, jobs__mail=f"{JOB}{RUN}{line}") == []
    assert len(found_in(tmp_path, jobs__mail=f"{JOB}async def view():\n    {line}")) == 1


def test_asyncio_is_fine_in_what_a_job_calls_wherever_it_is(tmp_path: Path) -> None:
    files = {
        "jobs__mail": f"{JOB}from lib import fetch_all\n{RUN}await fetch_all()",
        "lib/__init__": "from lib.fetching import fetch_all",
        "lib__fetching": "from lib.groups import Group\nasync def fetch_all():\n    await Group().fetch()",
        "lib__groups": "import asyncio\nclass Group:\n    async def fetch(self):\n        asyncio.create_task(f())",
    }
    assert found_in(tmp_path, **files) == []
    assert len(found_in(tmp_path, **(files | {"jobs__mail": ""}))) == 1


def test_a_durable_object_that_a_job_calls_is_none_of_its_own(tmp_path: Path) -> None:
    stats = f"import asyncio\n{OBJECT}class Stats(Durable):\n    def hit(self):\n        asyncio.create_task(f())"
    files = {"lib__stats": stats, "jobs__mail": f"{JOB}from lib.stats import Stats\n{RUN}Stats.get('a').hit()"}
    assert places(found_in(tmp_path, **files)) == [place_of(tmp_path, "asyncio.create_task", "lib/stats.py")]


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("threading.Thread(target=f).start()", "do the work in run, which may be async, or enqueue another job"),
        ("os.fork()", "use subprocess.run, which waits, or enqueue another job"),
    ],
)
def test_a_job_leaves_no_thread_and_no_process_behind(tmp_path: Path, line: str, instead: str) -> None:
    [finding] = found_in(tmp_path, jobs__mail=f"{JOB}{RUN}{line}")
    assert finding[:3] == place_of(tmp_path, line.partition("(")[0], "jobs/mail.py")
    assert "when its job is done nobody waits for it" in finding.problem
    assert instead in finding.problem
