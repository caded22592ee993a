"""Several processes of one kind, which end together."""

import multiprocessing
import signal
from collections.abc import Callable

EXECUTORS = 4
"""How many processes run jobs, of melee and of every other."""


def in_processes(work: Callable[[str], None], place: str) -> None:
    """Runs `work(place)` in `EXECUTORS` processes; SIGTERM is passed on to them."""
    forking = multiprocessing.get_context("fork")
    processes = [forking.Process(target=work, args=(place,)) for _process in range(EXECUTORS)]
    for process in processes:
        process.start()

    def end(_number: int, _frame: object) -> None:
        for process in processes:
            process.terminate()

    signal.signal(signal.SIGTERM, end)
    for process in processes:
        process.join()
