"""What a job worker tells its server of when it is needed, so that the app can sleep meanwhile."""

from collections.abc import Callable

from melee.processes.report import Listening, Reports, Stopped


class Waking:
    """Reports when there is something to do.

    Args:
        reports: to the server; without a descriptor nobody listens.
        lets_sleep: whether nobody stores jobs while this server sleeps. It is so in SQLite, where a request does it,
            which wakes the app. In Postgres anybody may, so a worker is needed all the time.
    """

    def __init__(self, reports: Reports, lets_sleep: bool) -> None:
        self._reports, self._lets_sleep = reports, lets_sleep
        self._is_known = False
        self._next_at: float | None = 0

    def forget(self) -> None:
        """There may be something new, so it has to be found out again when the next job is due."""
        self._is_known = False

    def tell(self, is_resting: bool, next_at: Callable[[], float | None]) -> None:
        """Tells the server, if it does not know.

        Args:
            is_resting: whether there is nothing to do now.
            next_at: finds out when there will be, in epoch seconds.

        Raises:
            BrokenPipeError: the server is gone.
        """
        if not is_resting or not self._lets_sleep:
            self._next_at, self._is_known = 0, False
        elif not self._is_known:
            self._next_at, self._is_known = next_at(), True
        # When the pipe has no room, it is told the next time.
        self._reports.tell(Listening(self._next_at), wait_seconds=0)

    def tell_end(self, next_at: float | None) -> None:
        self._reports.tell(Stopped(next_at if self._lets_sleep else 0))
