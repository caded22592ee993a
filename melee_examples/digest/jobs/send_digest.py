"""The mail with what is new since the last one."""

import os
import uuid
from typing import Any

from melee import Job, Resources, http

MAIL_URL = os.environ.get("MAIL_URL", "http://127.0.0.1:8200/mails")
MAIL_TO = os.environ.get("DIGEST_TO", "team@example.org")
MAIL_SECONDS = 5


# --8<-- [start:job]
class SendDigest(Job):
    NAME = "send_digest"

    period: str

    def unique_key(self) -> str:
        return self.period

    def run(self, resources: Resources) -> None:
        digest = self._begun(resources)
        links = resources.db.query(
            "SELECT title, url FROM links JOIN in_digests ON link_id = id "
            "WHERE digest = ? ORDER BY shared_at",
            digest,
        )
        if links:
            self._mail(digest, links)
        resources.db.run("UPDATE in_digests SET is_sent = 1 WHERE digest = ?", digest)
        # --8<-- [end:job]

    # --8<-- [start:begun]
    def _begun(self, resources: Resources) -> str:
        """The digest to send. What is in it is written down before it is sent: a second
        try has the same links, and the same key."""
        with resources.db.transaction():
            unsent = resources.db.first(
                "SELECT digest FROM in_digests WHERE period = ? AND is_sent = 0",
                self.period,
            )
            if unsent:
                return str(unsent["digest"])
            digest = uuid.uuid4().hex
            resources.db.run(
                "INSERT INTO in_digests (period, link_id, digest, is_sent) "
                "SELECT ?, id, ?, 0 FROM links WHERE id NOT IN "
                "(SELECT link_id FROM in_digests WHERE period = ?)",
                self.period,
                digest,
                self.period,
            )
            return digest
            # --8<-- [end:begun]

    def _mail(self, digest: str, links: list[dict[str, Any]]) -> None:
        answer = http.post(
            MAIL_URL,
            json={
                "to": MAIL_TO,
                "subject": f"The {self.period} digest: {len(links)} new",
                "text": "\n".join(
                    f"{link['title']}\n{link['url']}\n" for link in links
                ),
            },
            timeout=MAIL_SECONDS,
            idempotency_key=f"digest-{digest}",
        )
        answer.raise_for_status()
