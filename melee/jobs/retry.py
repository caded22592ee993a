"""How long a job pauses before it is tried again."""

import random

_FIRST_SECONDS = 5
_GROWS_BY = 4
SECONDS_AT_MOST = 3600


def pause_seconds(attempt: int, jitter: float = 0) -> float:
    """The pause after this attempt, from 1: 5, 20, 80, 320, 1,280 and then always 3,600 s.

    Args:
        jitter: up to this share of it is added, by chance.
    """
    # A large power would only be cut off, and take its time to compute.
    seconds: int = min(_FIRST_SECONDS * _GROWS_BY ** min(attempt - 1, 10), SECONDS_AT_MOST)
    return seconds * (1 + random.uniform(0, jitter))
