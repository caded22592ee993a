"""What has to be done before something leaves this process for another one."""

from collections.abc import Callable
from contextvars import ContextVar

before_sending: ContextVar[Callable[[str], None]] = ContextVar("before_sending", default=lambda _attempt: None)
"""Called with the name of what is about to be sent. While code of a durable object runs, it makes durable what that
object wrote so far, or raises why it cannot."""
