"""When the clocks on the wall next show a time."""

from datetime import datetime, time, timedelta

from melee import now


# --8<-- [start:next]
def next_local(at: time) -> datetime:
    """The next moment at which clocks here show `at`. Where they skip it, it is as much
    later as they skip; where they show it twice, it is the first of the two."""
    here = now()
    moment = datetime.combine(here.date(), at, tzinfo=here.tzinfo).timestamp()
    if moment <= here.timestamp():
        tomorrow = here.date() + timedelta(days=1)
        moment = datetime.combine(tomorrow, at, tzinfo=here.tzinfo).timestamp()
    return datetime.fromtimestamp(moment, here.tzinfo)
    # --8<-- [end:next]
