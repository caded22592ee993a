"""The page a visitor sees when there is no answer of the app: what happened, and what can be done now."""

import html
from string import Template

from melee.web.body import BODY_BYTES_AT_MOST

RETRY_AFTER_SECONDS = 5
"""When a visitor who was refused with 503 is told to come back."""
_LARGEST_BODY = f"{BODY_BYTES_AT_MOST // 2**20} MiB"
_LOOK_FIRST = "If you were sending something, look first whether it arrived."

_WORDS = {
    400: (
        "This request could not be read",
        "What arrived here breaks the rules of the web, so nothing was done.",
        "Go back and try again. If that does not help, delete the cookies of this site.",
    ),
    408: (
        "This took too long to arrive",
        "The request stopped on its way, so nothing was done.",
        "Look at your connection, then send it again.",
    ),
    413: (
        "That is too large",
        f"At most {_LARGEST_BODY} can be sent at a time, so nothing was done.",
        "Send a smaller file, or fewer of them at once.",
    ),
    414: (
        "This address is too long",
        "The address that was asked for is longer than this site can read, so nothing was done.",
        "Use a shorter link.",
    ),
    431: (
        "This request carries too much",
        "The browser sent more along with it than this site can read, most likely too many cookies. Nothing was done.",
        "Delete the cookies of this site, then try again.",
    ),
    500: (
        "Something went wrong here",
        "It is a fault of this site, not yours, and its owners can read what happened in their log.",
        f"Try again later. {_LOOK_FIRST}",
    ),
    502: (
        "There was no answer",
        "The program behind this page ended before it had answered.",
        f"Try again in a moment. {_LOOK_FIRST}",
    ),
    503: (
        "Too busy right now",
        "More people want something from this site than it can serve, so nothing was done.",
        "Try again in a few seconds.",
    ),
    504: (
        "This took too long",
        "The program behind this page needed more time than it may take, and was stopped.",
        f"Try again in a moment. {_LOOK_FIRST}",
    ),
}
"""Of each status: its title, what happened, what to do."""

_HTML = Template(
    """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>$title</title>
<style>
:root { color-scheme: light dark }
:root { --text: #22262b; --quiet: #5b636d; --paper: #fbfaf8; --line: #dcd8d1; --mark: #b4431f }
@media (prefers-color-scheme: dark) {
  :root { --text: #e8e6e1; --quiet: #a3a9b1; --paper: #191b1e; --line: #3a3e44; --mark: #f0916d }
}
body { margin: 0; background: var(--paper); color: var(--text); font: 1.0625rem/1.6 system-ui, sans-serif }
main { box-sizing: border-box; max-width: 36rem; margin: 0 auto; padding: 18vh 1.5rem 3rem }
.status { margin: 0; color: var(--mark); font-weight: 600; letter-spacing: .04em }
h1 { margin: .25rem 0 1.25rem; font-size: 1.9rem; line-height: 1.25; text-wrap: balance }
p { margin: 0 0 .75rem }
.id { margin-top: 2.5rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--quiet); font-size: .9rem }
code { color: var(--text); font: .95em ui-monospace, monospace; overflow-wrap: anywhere }
</style>
</head>
<body>
<main>
<p class="status">$status</p>
<h1>$title</h1>
<p>$happened</p>
<p>$advice</p>
$id
</main>
</body>
</html>
"""
)
_HTML_ID = Template('<p class="id">If you write to the owners, quote this: <code>$id</code></p>')


def error_page(status: int, request_id: str, accept: str) -> tuple[str, bytes]:
    """The content type and the body of the answer to a request that failed.

    Args:
        status: 400, 408, 413, 414, 431, 500, 502, 503 or 504.
        request_id: for the visitor to quote; empty for none.
        accept: the client's `Accept` header. Browsers name HTML and are given a page; programs say `*/*`, and are given
            plain text.
    """
    title, happened, advice = _WORDS[status]
    if "text/html" in accept.lower():
        id_line = _HTML_ID.substitute(id=html.escape(request_id)) if request_id else ""
        page = _HTML.substitute(status=status, title=title, happened=happened, advice=advice, id=id_line)
        return "text/html; charset=utf-8", page.encode()
    lines = [f"{status} {title}", "", happened, advice, *([f"Request: {request_id}"] if request_id else [])]
    return "text/plain; charset=utf-8", "\n".join([*lines, ""]).encode()


def error_answer(status: int, request_id: str, accept: str) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """The headers and the body of that answer, for a server to send; the page is not kept by anybody."""
    content_type, page = error_page(status, request_id, accept)
    headers = [
        (b"content-type", content_type.encode()),
        (b"content-length", str(len(page)).encode()),
        (b"cache-control", b"no-store"),
    ]
    if status == 503:
        headers.append((b"retry-after", str(RETRY_AFTER_SECONDS).encode()))
    return headers, page
