"""A process that does not outlive the one that started it, however that one ends."""

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_prctl = getattr(ctypes.CDLL(None, use_errno=True), "prctl", None)


def end_with_parent(parent_pid: int, by: signal.Signals = signal.SIGTERM) -> None:
    """Lets the kernel send `by` to this process when its parent ends; ends now when that has happened already.

    Only Linux can do this. Elsewhere a process learns of its parent's end from the channel that both share.

    Args:
        parent_pid: who the parent is, as the parent itself said before it started this process.
    """
    if _prctl:
        _prctl(_PR_SET_PDEATHSIG, by)
    if os.getppid() != parent_pid:
        signal.raise_signal(by)


def adopt_orphans() -> None:
    """Makes what a child of this process leaves behind a child of this process, which reaps it: in a container there
    may be nobody else who does. Only Linux can do this."""
    if _prctl:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
