from melee import App
from lib.stats import Stats
app = App(__name__)
@app.get("/")
def index():
    Stats.get("visits").hit()
    return str(Stats.get("visits").today())
