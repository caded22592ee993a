"""What a forked child does before anything else, so that nothing of its parent is left in it and nothing of it is left
behind."""

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

from melee.processes.parent import end_with_parent

_RESET = (signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP)


def run_as_child(parent_pid: int, let_go: Callable[[], None], work: Callable[[], None]) -> NoReturn:
    """Runs `work` as a process of its own, and ends it: with 0, or with 1 and a traceback when it raised.

    Args:
        let_go: closes what only the parent may hold.
    """
    exit_code = 1
    try:
        lead_a_group()
        signal.set_wakeup_fd(-1)
        for number in _RESET:
            signal.signal(number, signal.SIG_DFL)
        end_with_parent(parent_pid, by=signal.SIGKILL)
        let_go()
        work()
        exit_code = 0
    except SystemExit as error:
        exit_code = _exit_code(error)
    except BaseException:  # noqa: BLE001 - it must not return into the code of its parent
        traceback.print_exc()
    finally:
        try:
            flush_output()
        finally:
            # Not sys.exit: what the parent registered for its own end is not this process's business.
            os._exit(exit_code)


def lead_a_group(pid: int = 0) -> None:
    """Puts a child into a process group of its own, so that what it starts can be ended with it.

    The child and its parent both do this, since nobody knows who comes first.
    """
    try:
        os.setpgid(pid, pid)
    except (PermissionError, ProcessLookupError):
        # It has done so itself and started another program, or it has ended.
        return


def flush_output() -> None:
    """Writes what was printed. A parent does so before it forks, or each child would print it once more."""
    for stream in (sys.stdout, sys.stderr):
        # Nobody reads what this process prints, or it closed its own stream or put something else in its place.
        with contextlib.suppress(Exception):
            stream.flush()


def _exit_code(error: SystemExit) -> int:
    """What the interpreter would end with, had it seen this."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    sys.stderr.write(f"{error.code}\n")
    return 1
