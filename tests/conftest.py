"""A shell that starts the tests in the background lets them and all their children ignore Ctrl-C, which some of them
are about."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
