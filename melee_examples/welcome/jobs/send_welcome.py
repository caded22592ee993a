"""The mail to somebody who has signed up."""

import os

from melee import Job, Resources, http

MAIL_URL = os.environ.get("MAIL_URL", "http://127.0.0.1:8200/mails")
MAIL_SECONDS = 5


# --8<-- [start:job]
class SendWelcome(Job):
    NAME = "send_welcome"

    user_id: str

    def run(self, resources: Resources) -> None:
        user = resources.db.first("SELECT email FROM users WHERE id = ?", self.user_id)
        if user is None:
            resources.log.info("the user is gone, and needs no mail")
            return
        self._mail(user["email"])

    # --8<-- [start:mail]
    def _mail(self, to: str) -> None:
        answer = http.post(
            MAIL_URL,
            json={"to": to, "subject": "Welcome!"},
            timeout=MAIL_SECONDS,
            idempotency_key=f"welcome-{self.user_id}",
        )
        answer.raise_for_status()
        # --8<-- [end:mail]
        # --8<-- [end:job]
