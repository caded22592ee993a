"""Counts its visitors twice."""

from melee import App, Durable

app = App(__name__)
seen = 0


class Visits(Durable):
    def add(self) -> int:
        total = int(self.storage.get("total", 0)) + 1
        self.storage.put("total", total)
        return total


@app.get("/")
def index() -> str:
    global seen
    seen += 1
    return f"variable {seen}, object {Visits.get('all').add()}\n"
