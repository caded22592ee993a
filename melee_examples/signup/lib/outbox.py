"""Work that requests leave behind: written down in a table, done by a timer."""

import json
import os
import uuid
from typing import Any

from melee import Durable, http, now

MAIL_URL = os.environ.get("MAIL_URL", "http://127.0.0.1:8200/mails")
MAIL_SECONDS = 5
JOBS_AT_ONCE = 20
ATTEMPTS_AT_MOST = 5
SOON_SECONDS = 1
PENDING_SECONDS = 5
IDLE_SECONDS = 60

Job = dict[str, Any]


# --8<-- [start:class]
class Outbox(Durable):
    # --8<-- [start:setup]
    def setup(self) -> None:
        self.timer(after=0)
        # --8<-- [end:setup]

    # --8<-- [start:push]
    def push(self, kind: str, payload: dict[str, Any]) -> None:
        self.storage.run(
            "INSERT INTO jobs (key, kind, payload, created_at) VALUES (?, ?, ?, ?)",
            uuid.uuid4().hex,
            kind,
            json.dumps(payload),
            now().isoformat(),
        )
        self._drain_soon()

    def _drain_soon(self) -> None:
        # Only once: a crowd that pulls the timer forward again and again would
        # hold it off for ever.
        if not self.storage.get("drains_soon", False):
            self.storage.put("drains_soon", True)
            self.timer(after=SOON_SECONDS)
            # --8<-- [end:push]

    # --8<-- [start:on_timer]
    def on_timer(self) -> None:
        self.storage.delete("drains_soon")
        self._drain()
        if self.pending():
            self.timer(after=PENDING_SECONDS)
        else:
            self.timer(after=IDLE_SECONDS)
            # --8<-- [end:on_timer]

    # --8<-- [start:pending]
    def pending(self) -> int:
        (row,) = self.storage.query("SELECT count(*) AS jobs FROM jobs")
        return int(row["jobs"])
        # --8<-- [end:pending]

    # --8<-- [start:drain]
    def _drain(self) -> None:
        jobs = self.storage.query(
            "SELECT * FROM jobs ORDER BY id ASC LIMIT ?", JOBS_AT_ONCE
        )
        for job in jobs:
            error = self._attempt(job)
            if isinstance(error, http.Error) and error.status is None:
                # Nobody answers. The next job would wait for that as long.
                break
                # --8<-- [end:drain]

    # --8<-- [start:attempt]
    def _attempt(self, job: Job) -> Exception | None:
        try:
            self._deliver(job)
        except Exception as error:  # noqa: BLE001 - a bad job does not stop the others
            self._count_failure(job, error)
            return error
        self._remove(job)
        return None

    def _count_failure(self, job: Job, error: Exception) -> None:
        self.storage.run(
            "UPDATE jobs SET attempts = attempts + 1 WHERE key = ?", job["key"]
        )
        attempts = job["attempts"] + 1
        about = {"attempts": attempts, "kind": job["kind"], "key": job["key"]}
        self.log.warning("a job failed", error=repr(error), **about)
        if attempts >= ATTEMPTS_AT_MOST:
            self.log.error("a job is given up", **about)
            self._remove(job)

    def _remove(self, job: Job) -> None:
        self.storage.run("DELETE FROM jobs WHERE key = ?", job["key"])
        # --8<-- [end:attempt]

    # --8<-- [start:deliver]
    def _deliver(self, job: Job) -> None:
        payload = json.loads(job["payload"])
        if job["kind"] == "welcome":
            self._mail(payload["email"], "Welcome!", job["key"])
        else:
            self.log.warning("nobody knows this kind of job", kind=job["kind"])
            # --8<-- [end:deliver]

    # --8<-- [start:mail]
    def _mail(self, to: str, subject: str, key: str) -> None:
        answer = http.post(
            MAIL_URL,
            json={"to": to, "subject": subject},
            timeout=MAIL_SECONDS,
            idempotency_key=key,
        )
        answer.raise_for_status()
        # --8<-- [end:mail]
        # --8<-- [end:class]
