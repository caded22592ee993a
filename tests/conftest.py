"""What all tests share.

A shell that starts the tests in the background lets them and all their children ignore Ctrl-C, which some of them
are about.
"""

import signal
from pathlib import Path

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def write_app(folder: Path, source: str) -> Path:
    """Writes an app of one file into a folder that need not exist, and returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "app.py").write_text(source)
    return folder
