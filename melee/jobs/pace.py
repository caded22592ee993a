"""How many jobs are given and taken at a time, by how long they have taken so far."""

from collections import deque

from melee.jobs.store import Claim

_FRAME_SECONDS = 0.005
_FRAME_JOBS_AT_MOST = 100
_FRAME_LETTERS_AT_MOST = 64 * 1024
_AHEAD_SECONDS = 0.1
_CLAIMED_AT_MOST = 1000
_WEIGHT = 0.2
"""Of the newest job in the average."""


class Pace:
    """Averages for each kind of job. A kind that has never run may be slow, so it is run alone first."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._mean = _FRAME_SECONDS

    def learn(self, name: str, seconds: float) -> None:
        before = self._seconds.get(name, seconds)
        self._seconds[name] = before + _WEIGHT * (seconds - before)
        self._mean += _WEIGHT * (seconds - self._mean)

    def frame(self, ready: deque[Claim]) -> list[Claim]:
        """Takes from the front what one executor is to run next: one job, or several that are quick."""
        claims = [ready.popleft()]
        seconds, letters = self._expected(claims[0]), len(claims[0].payload)
        while ready and len(claims) < _FRAME_JOBS_AT_MOST:
            seconds, letters = seconds + self._expected(ready[0]), letters + len(ready[0].payload)
            if seconds > _FRAME_SECONDS or letters > _FRAME_LETTERS_AT_MOST:
                break
            claims.append(ready.popleft())
        return claims

    def wanted(self, executors: int, ready: deque[Claim]) -> int:
        """How many more to claim, so that the executors are busy for a moment and other workers get their share.

        None as long as half of these are there: each claim costs a statement and a flush to the disk.
        """
        ahead = min(max(executors, int(executors * _AHEAD_SECONDS / max(self._mean, 1e-6))), _CLAIMED_AT_MOST)
        return ahead - len(ready) if len(ready) <= ahead // 2 else 0

    def _expected(self, claim: Claim) -> float:
        return self._seconds.get(claim.name, _FRAME_SECONDS)
