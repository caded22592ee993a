"""What signals tell a server: to stop, or to load its app anew."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def heeding_signals(stop: Callable[[str], None], reload: Callable[[], None]) -> Iterator[None]:
    """Inside, SIGTERM and SIGINT stop the server, SIGHUP loads the app anew. Afterwards the process is about to end
    anyway, and no signal interrupts what it puts in order."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number.name)
    loop.add_signal_handler(signal.SIGHUP, reload)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)
