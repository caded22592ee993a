"""The test kit: an app in a temporary data folder, time that a test moves, and crashes at a named moment.

Nothing is imitated. `AppUnderTest` hosts the objects in the process of the test, as `melee dev` does, on real
databases; `WorkerUnderTest` starts a real object worker, as a server does, and can have it die by SIGKILL.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from zoneinfo import ZoneInfo

from flask import Flask
from flask.testing import FlaskClient

from melee import clock, log
from melee.clock import Clock, ManualClock, SystemClock
from melee.objects.__main__ import serve
from melee.objects.client import Client
from melee.objects.commit import COMMIT_POINTS
from melee.objects.durable import Durable
from melee.objects.host import Host
from melee.objects.hosting import classes_below, hosted
from melee.objects.request import ObjectRef, owned_by
from melee.objects.shard import Shard
from melee.project import Project
from melee.testing_jobs import JobsUnderTest, jobs_under_test

__all__ = ["COMMIT_POINTS", "AppUnderTest", "JobsUnderTest", "ManualClock", "WorkerUnderTest"]


class _Entered:
    """What both kits are: a project loaded in this process, on a data folder, between `with` and its end."""

    def __init__(self, folder: Path | str, data: Path | str | None, database_url: str = "") -> None:
        self._given_data, self._database_url = Path(data) if data else None, database_url
        self._folder = Path(folder)
        self._stack = ExitStack()
        self.project: Project
        self.classes: dict[str, type[Durable]]

    def __enter__(self) -> Self:
        with self._stack:
            data = self._given_data or Path(tempfile.mkdtemp(prefix="melee-test-"))
            if not self._given_data:
                self._stack.callback(shutil.rmtree, data)
            # Never the database that the environment names: that may be the one of the visitors.
            self.project = Project.at(self._folder, data, given_url=self._database_url)
            self._start(self.project.load().app)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _start(self, app: Any) -> None:
        raise NotImplementedError


class AppUnderTest(_Entered):
    """An app with its objects, in this process.

    Args:
        folder: of the app.
        clock: what `melee.now()` and timers read; default: one that stands at 2030-01-01 00:00 UTC until moved.
        data: a data folder that is kept; default: a temporary one.
        timezone: an IANA name such as `"Europe/Paris"` in place of the app's `[app] timezone`.
        database_url: an empty database in Postgres for `app.db` and the jobs; default: SQLite in the data folder,
            whatever `DATABASE_URL` says.

    Attributes:
        client: Flask's test client.
        clock: the clock.
        classes: the app's durable classes by name.
        flask: the app.
        jobs: its durable jobs, which run when the test says so, see `JobsUnderTest`.
        project: its folders.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        clock: ManualClock | None = None,
        data: Path | str | None = None,
        timezone: str = "",
        database_url: str = "",
    ) -> None:
        super().__init__(folder, data, database_url)
        self.clock = clock or ManualClock()
        self._zone = ZoneInfo(timezone) if timezone else None
        self.flask: Flask
        self.client: FlaskClient
        self.jobs: JobsUnderTest
        self._host: Host
        self._hosting = ExitStack()

    def _start(self, app: Any) -> None:
        self.flask, self.client = app, app.test_client()
        app.project = replace(app.project, data=self.project.data, given_url=self.project.given_url)
        app.testing = True
        self.classes = classes_below(self.project.folder)
        self._stack.callback(lambda: self._hosting.close())
        self._host_objects()
        self.jobs = self._stack.enter_context(jobs_under_test(app, self.project, self.clock))

    def fire_due(self) -> list[str]:
        """Fires every timer that is due now, and those that become due by it; returns the objects as `Class/id`.

        Raises:
            RuntimeError: a timer sets itself to now again and again.
        """
        fired: list[str] = []
        while refs := self._host.fire_due():
            fired += [str(ref) for ref in refs]
            if len(fired) > 10_000:
                raise RuntimeError(f"{fired[-1]} is due again as soon as it has fired; set its timer later")
        return fired

    def evict(self, class_name: str, id: str) -> bool:
        """Unloads an object, as idleness would: its attributes are gone, its storage stays. Returns whether it was
        loaded."""
        return self._host.unload(ObjectRef(class_name, id))

    def restart(self) -> None:
        """Ends the hosting of the objects and begins it anew, as a deploy would."""
        self._hosting.close()
        self._host_objects()

    def _host_objects(self) -> None:
        self._host = self._hosting.enter_context(hosted(self.project, self.clock, zone=self._zone))


class WorkerUnderTest(_Entered):
    """An app's objects in one real object worker, whatever `[objects] workers` says; handles in this process call it
    through its socket.

    Args:
        folder: of the app.
        data: the data folder; default: a temporary one.
        dies_at: one of `COMMIT_POINTS`; when the worker gets there it is killed with SIGKILL.
        dies_on: the how-manieth time it gets there, from 1.
        now: where the worker's clock stands, in epoch seconds; default: the machine's clock.

    Attributes:
        classes: the app's durable classes by name.
        process: the worker.

    Raises:
        ValueError: `dies_at` is no commit point.
        RuntimeError: the worker ended before it listened; its error output says why.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        data: Path | str | None = None,
        dies_at: str = "",
        dies_on: int = 1,
        now: float | None = None,
    ) -> None:
        if dies_at and dies_at not in COMMIT_POINTS:
            raise ValueError(f"dies_at={dies_at!r} is none of {', '.join(COMMIT_POINTS)}")
        super().__init__(folder, data)
        self._arguments = [dies_at, str(dies_on), "" if now is None else str(now)]
        self.process: subprocess.Popen[str]
        self._reader: threading.Thread

    def _start(self, _app: Any) -> None:
        self.classes = classes_below(self.project.folder)
        command = [sys.executable, "-m", "melee.testing", str(self.project.folder), str(self.project.data)]
        self.process = subprocess.Popen([*command, *self._arguments], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        first_line = self.process.stdout.readline()
        # Read on, or a worker with much to say would wait for room in the pipe.
        self._reader = threading.Thread(target=self.process.stdout.read, daemon=True)
        self._reader.start()
        self._stack.callback(self._end)
        # The worker's first line says that it listens; the end of its output, that it died before.
        if not first_line:
            raise RuntimeError(
                f"the object worker ended with {self.process.wait()} before it listened; see what it printed"
            )
        client = Client(Shard().socket(self.project), SystemClock())
        self._stack.callback(client.close)
        self._stack.enter_context(owned_by(client))
        self._stack.enter_context(clock.installed(SystemClock(), self.project.config.zone))

    def kill(self) -> None:
        """Ends the worker with SIGKILL, wherever it is, and waits until it is gone."""
        self.process.kill()
        self.process.wait()

    def has_died(self) -> bool:
        """Waits up to 10 s for the worker to end; True when SIGKILL ended it."""
        return self.process.wait(timeout=10) == -signal.SIGKILL

    def _end(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=30)
        self._reader.join()
        assert self.process.stdout
        self.process.stdout.close()


def _main() -> None:
    folder, data, dies_at, dies_on, now = sys.argv[1:]
    log.to_json()
    time: Clock = ManualClock(float(now)) if now else SystemClock()
    serve(Project.at(Path(folder), Path(data), given_url=""), time, reached=_dies(dies_at, int(dies_on)))


def _dies(dies_at: str, dies_on: int) -> Callable[[str], None]:
    times = 0

    def reached(point: str) -> None:
        nonlocal times
        times += point == dies_at
        if point == dies_at and times == dies_on:
            os.kill(os.getpid(), signal.SIGKILL)

    return reached


if __name__ == "__main__":
    _main()
