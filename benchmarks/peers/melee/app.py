"""The app."""

from benchmarks.marks import ran
from melee import App, Job
from melee.jobs.resources import Resources

app = App(__name__)


@app.jobs.register
class Mark(Job):
    NAME = "mark"
    sent_at: float

    def run(self, resources: Resources) -> None:
        ran(self.sent_at)
