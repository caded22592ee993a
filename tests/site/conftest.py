"""The built site, a browser, and one visit to every page that most tests here look back on."""

import os
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Playwright, sync_playwright

from tests.site.visits import SCHEMES, Visit, visit

ROOT = Path(__file__).parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_message: object) -> None:
        """Says nothing: pytest shows what failed."""


@pytest.fixture(scope="session")
def site_folder() -> Path:
    folder = ROOT / "site"
    if not (folder / "index.html").exists():
        pytest.fail(f"{folder} holds no built site. Build it first: python -m nox -s proof site", pytrace=False)
    return folder


@pytest.fixture(scope="session")
def site_pages(site_folder: Path) -> list[str]:
    """Every page as a path below the site's root."""
    return sorted(path.relative_to(site_folder).as_posix() for path in site_folder.rglob("*.html"))


@pytest.fixture(scope="session")
def site_url(site_folder: Path) -> Iterator[str]:
    handler = partial(QuietHandler, directory=str(site_folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """Debian's chromium, Chrome, or the one Playwright brings; without any, the tests are named as not run."""
    installed = next(filter(None, map(shutil.which, NAMES)), None)
    try:
        running = playwright.chromium.launch(executable_path=installed, args=ARGUMENTS)
    except Error as error:
        reason = f"not run, no browser could be started; install chromium. {error.message.splitlines()[0]}"
        if os.environ.get("CI"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    yield running
    running.close()


@pytest.fixture(scope="session")
def screenshots() -> Path:
    folder = ROOT / ".proof" / "screenshots"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(scope="session")
def visits(browser: Browser, site_url: str, site_pages: list[str], screenshots: Path) -> list[Visit]:
    """Every page, on a desk and on a phone, by day and by night."""
    return [
        seen
        for width in (1280, 390)
        for scheme in SCHEMES
        for seen in visit(browser, site_url, site_pages, width=width, scheme=scheme, screenshots=screenshots)
    ]
