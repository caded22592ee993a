"""Mails about an order."""

from melee import Job, Resources, http


# --8<-- [start:mailer]
class Mailer:
    def __init__(self, url: str) -> None:
        self.url = url

    def send(self, subject: str, key: str) -> None:
        mail = {"to": "ada@example.org", "subject": subject}
        http.post(self.url, json=mail, idempotency_key=key).raise_for_status()
        # --8<-- [end:mailer]


# --8<-- [start:receipt]
class SendReceipt(Job):
    NAME = "send_receipt"
    TIMEOUT = 60

    order_id: int
    language: str = "en"

    def run(self, resources: Resources) -> None:
        mailer = resources.require(Mailer)
        mailer.send("Your receipt", key=f"receipt-{self.order_id}")
        # --8<-- [end:receipt]


class AskForReview(Job):
    NAME = "ask_for_review"

    order_id: int

    def run(self, resources: Resources) -> None:
        mailer = resources.require(Mailer)
        mailer.send("How was it?", key=f"review-{self.order_id}")
