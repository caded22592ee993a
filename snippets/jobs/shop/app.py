"""What the page about jobs shows of an app."""

import os
from datetime import datetime, timedelta

from melee import App, now
from snippets.jobs.charge import Charge
from snippets.jobs.links import CheckLinks
from snippets.jobs.newsletter import MailReader, SendNewsletter
from snippets.jobs.receipt import AskForReview, Mailer, SendReceipt

# --8<-- [start:provide]
app = App(__name__)
app.provide(Mailer(os.environ.get("MAIL_URL", "http://127.0.0.1:8200/mails")))
# --8<-- [end:provide]
for job in (AskForReview, Charge, CheckLinks, MailReader, SendNewsletter, SendReceipt):
    app.jobs.register(job)


# --8<-- [start:later]
@app.post("/orders/<int:order_id>/ship")
def ship(order_id: int) -> str:
    app.jobs.enqueue(SendReceipt(order_id=order_id))
    app.jobs.enqueue_in(AskForReview(order_id=order_id), 14 * 86_400)
    return "It is on its way."
    # --8<-- [end:later]


@app.post("/newsletters/<int:issue>")
def publish(issue: int) -> str:
    app.jobs.enqueue_at(SendNewsletter(issue=issue), next_morning())
    return "It goes out tomorrow."


def next_morning() -> datetime:
    return (now() + timedelta(days=1)).replace(hour=8, minute=0)
