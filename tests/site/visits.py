"""Visits to pages in a real browser, and what a visitor notices there: the one checker of this folder."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, Route, WebSocketRoute
from playwright.sync_api import TimeoutError as BrowserTimeoutError

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")

# Material draws diagrams into closed shadow roots, where nobody can look.
OPEN_SHADOW_ROOTS = """
const attach = Element.prototype.attachShadow
Element.prototype.attachShadow = function (options) { return attach.call(this, { ...options, mode: "open" }) }
"""

DRAWN = """[...document.querySelectorAll("div.mermaid")].filter(host => host.shadowRoot?.querySelector("svg")).length"""

# Pairs of a label and what it is read against.
LABELS = """() => {
  const background = getComputedStyle(document.body).backgroundColor
  const labels = []
  for (const host of document.querySelectorAll("div.mermaid")) {
    for (const node of host.shadowRoot?.querySelectorAll(".node") ?? []) {
      const text = node.querySelector(".nodeLabel"), shape = node.querySelector("rect, path, polygon, circle, ellipse")
      labels.push([text.textContent, getComputedStyle(text).color, getComputedStyle(shape).fill])
    }
    for (const text of host.shadowRoot?.querySelectorAll(".edgeLabel p") ?? [])
      labels.push([text.textContent, getComputedStyle(text).color, background])
    for (const text of host.shadowRoot?.querySelectorAll("text.messageText") ?? [])
      labels.push([text.textContent, getComputedStyle(text).fill, background])
  }
  return labels
}"""

# Pages that are made from tests, to be linked to from proofs.
GENERATED = "about/tests/"

# Signatures and sources in the reference are written by the program that reads the code; all else needs a proof.
UNPROVEN = """() => [...document.querySelectorAll(".md-content .highlight, .md-content .mermaid")]
  .filter(block => !block.closest(".doc-signature, .mkdocstrings-source"))
  .filter(block => {
    const shown = block.closest(".highlight") ?? block
    const proof = shown.querySelector(":scope > .proof") ?? shown.nextElementSibling
    return !proof?.matches(".proof") || proof.textContent.trim().startsWith("✗")
  })
  .map(block => (block.querySelector("code")?.textContent ?? "a diagram").trim().split("\\n")[0])"""

HINTS = """() =>
  [...document.querySelectorAll("link[rel~=preconnect], link[rel~=dns-prefetch]")].map(link => link.href)
"""

# Diagrams of which a part is seen only after scrolling sideways.
CUT_OFF = """() =>
  [...document.querySelectorAll("div.mermaid")].filter(host => host.scrollWidth > host.clientWidth).length
"""

OVERFLOW = """() => document.documentElement.scrollWidth - innerWidth"""


@dataclass(frozen=True)
class Label:
    """A text in a diagram, its colour and the colour behind it, as the browser computed them."""

    text: str
    colour: str
    behind: str

    @property
    def contrast(self) -> float:
        return contrast(self.colour, self.behind)


@dataclass
class Visit:
    """What was noticed on one page. Empty lists, no overflow and as many drawings as diagrams are good news."""

    page: str
    width: int
    scheme: Scheme
    outside: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    diagrams: int = 0
    drawn: int = 0
    cut_off: int = 0
    overflow: int = 0

    def __str__(self) -> str:
        return f"{self.page}, {self.width} pixels, {self.scheme}"


def visit(
    browser: Browser,
    root: str,
    pages: list[str],
    *,
    width: int,
    scheme: Scheme,
    screenshots: Path,
    patience_seconds: float = 15,
) -> Iterator[Visit]:
    """Open each page below `root` in turn, as one visitor, and take a picture of those that people write."""
    with visitor(browser, width=width, scheme=scheme) as (page, outside, complaints):
        for name in pages:
            seen = Visit(name, width, scheme)
            response = page.goto(f"{root}/{name}")
            seen.diagrams = response.text().count('<pre class="mermaid"') if response else 0
            seen.drawn = wait_for_drawings(page, seen.diagrams, patience_seconds)
            seen.labels = [Label(*label) for label in page.evaluate(LABELS)]
            seen.cut_off = page.evaluate(CUT_OFF)
            seen.overflow = page.evaluate(OVERFLOW)
            if not name.startswith(GENERATED):
                seen.unproven = page.evaluate(UNPROVEN)
                picture = f"{name.removesuffix('.html').replace('/', '-')}-{width}-{scheme}.png"
                page.screenshot(path=screenshots / picture, full_page=True)
            seen.outside = [*outside, *filter(is_outside, page.evaluate(HINTS))]
            seen.complaints = list(complaints)
            outside.clear()
            complaints.clear()
            yield seen


@contextmanager
def visitor(
    browser: Browser, *, width: int = 1280, scheme: Scheme = "light"
) -> Iterator[tuple[Page, list[str], list[str]]]:
    """A page of its own, and two lists that fill up: requests to the outside, and what the console complains about.

    A request to the outside is noted and refused, so that it does not leave even when the site is at fault.
    """
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    outside: list[str] = []
    complaints: list[str] = []
    refuse_the_outside(context, outside)
    context.add_init_script(OPEN_SHADOW_ROOTS)
    context.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    context.on("weberror", lambda raised: complaints.append(str(raised.error)))
    try:
        yield context.new_page(), outside, complaints
    finally:
        context.close()


def refuse_the_outside(context: BrowserContext, outside: list[str]) -> None:
    def refuse(route: Route) -> None:
        outside.append(route.request.url)
        route.abort()

    def refuse_socket(socket: WebSocketRoute) -> None:
        outside.append(socket.url)
        socket.close()

    context.route(is_outside, refuse)
    context.route_web_socket(is_outside, refuse_socket)


def is_outside(url: str) -> bool:
    return urlsplit(url).scheme in ("http", "https", "ws", "wss") and urlsplit(url).hostname != "127.0.0.1"


def wait_for_drawings(page: Page, expected: int, patience_seconds: float = 15) -> int:
    """How many diagrams are drawn; looks until all are, or patience ends."""
    with suppress(BrowserTimeoutError):
        page.wait_for_function(f"expected => {DRAWN} >= expected", arg=expected, timeout=patience_seconds * 1000)
    return int(page.evaluate(DRAWN))


def contrast(colour: str, behind: str) -> float:
    """The contrast ratio of WCAG 2, from 1 (nothing to see) to 21 (black on white), of two opaque CSS colours."""
    lighter, darker = sorted((luminance(colour), luminance(behind)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = re.fullmatch(r"rgb\((\d+), (\d+), (\d+)\)", colour)
    if parts is None:
        raise ValueError(f"{colour!r} is not an opaque colour as a browser computes it; pass rgb(r, g, b)")
    red, green, blue = (linear(int(part) / 255) for part in parts.groups())
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)
