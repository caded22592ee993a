"""A forked child, as a server that forks would have it."""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def child_that(runs: Callable[[], None]) -> Iterator[None]:
    """Forks; the child runs this with what it inherited, while the block goes on in the parent. What the child raises
    it prints, and the block ends with an AssertionError."""
    with warnings.catch_warnings():
        # Python 3.12 and later warn of a fork beside a thread; the thread is the test run's own.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            runs()
            code = 0
        except BaseException:  # noqa: BLE001 - else the child would go on with the other tests
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(code)
    try:
        yield
    except BaseException:
        # It may wait for something that the block does not do any more.
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    assert os.waitpid(child, 0)[1] == 0
