"""One job that makes many."""

from melee import Job, Resources
from snippets.jobs.receipt import Mailer


# --8<-- [start:many]
class SendNewsletter(Job):
    NAME = "send_newsletter"

    issue: int

    def run(self, resources: Resources) -> None:
        readers = resources.db.query("SELECT id FROM readers")
        resources.jobs.enqueue_many(
            MailReader(issue=self.issue, reader_id=reader["id"]) for reader in readers
        )
        # --8<-- [end:many]


class MailReader(Job):
    NAME = "mail_reader"
    PRIORITY = -5

    issue: int
    reader_id: int

    def unique_key(self) -> str:
        return f"{self.issue}/{self.reader_id}"

    def run(self, resources: Resources) -> None:
        mailer = resources.require(Mailer)
        mailer.send("News", key=f"news-{self.issue}-{self.reader_id}")
