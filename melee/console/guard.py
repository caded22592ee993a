"""Who may use the console: pages of its own, on a name that is this machine's.

There is no token in its forms. A browser says where a form was sent from, in `Origin`, `Referer` or `Sec-Fetch-Site`,
and no page of another site can change what it says. A program that says nothing of the kind is none that a stranger's
page could send.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from melee.words import shortened, visible

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s\[\]:/@,]+)(?::\d{1,5})?", re.IGNORECASE)
_OF_THIS_MACHINE = {"localhost", "127.0.0.1", "[::1]"}
_OUR_OWN = {"same-origin", "none"}
_SHOWN_AT_MOST = 100


class Guard:
    """Refuses requests.

    Args:
        host: what the server was told to listen on; this name or address is this machine's, too.
    """

    def __init__(self, host: str) -> None:
        self._hosts = _OF_THIS_MACHINE | {f"[{host}]".lower() if ":" in host else host.lower()}

    def refusal(self, environ: Mapping[str, Any]) -> str:
        """Why a WSGI request is refused, in a line; empty when it may be answered."""
        host = environ.get("HTTP_HOST", "")
        if not self._is_ours(host):
            # A stranger's name that leads here would make his pages the same origin as this one.
            known = ", ".join(sorted(self._hosts))
            return f"the console is not at the host {_quoted(host)}; it answers to {known}"
        if environ["REQUEST_METHOD"] in ("GET", "HEAD"):
            return ""
        return _refusal_of_sender(environ, host)

    def _is_ours(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        return found is not None and found[1].lower() in self._hosts


def _refusal_of_sender(environ: Mapping[str, Any], host: str) -> str:
    for name, header in (("HTTP_ORIGIN", "Origin"), ("HTTP_REFERER", "Referer")):
        sender = environ.get(name)
        if sender is not None and _place(sender) != host.lower():
            return f"this was sent from a page elsewhere, {header} {_quoted(sender)}; use the buttons of the console"
    site = environ.get("HTTP_SEC_FETCH_SITE", "none")
    if site not in _OUR_OWN:
        return f"this was sent from a page elsewhere, Sec-Fetch-Site {_quoted(site)}; use the buttons of the console"
    return ""


def _place(url: str) -> str:
    """Host and port of a URL; empty for what is none, such as the `null` of a page without an origin."""
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return ""


def _quoted(header: str) -> str:
    return repr(visible(shortened(header, _SHOWN_AT_MOST)))
