"""What a reader does with the guide: searches, copies, follows links, turns the light off."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.site.conftest import ROOT
from tests.site.visits import DRAWN, LABELS, SCHEMES, Label, Scheme, visitor, wait_for_drawings

pytestmark = pytest.mark.browser

TUTORIAL = "tutorial/5-work-that-happens-on-its-own.html"
MARKER = re.compile(r"\s*# --8<-- \[(start|end):(\S+)\]\s*")


@pytest.fixture(params=["served", "opened from a folder"])
def root(request: pytest.FixtureRequest, site_url: str, site_folder: Path) -> str:
    return site_url if request.param == "served" else site_folder.as_uri()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page by day that must stay on this machine, with a console that stays silent."""
    with visitor(browser) as (page, outside, complaints):
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        yield page
        assert (outside, complaints) == ([], [])


def test_a_search_for_midnight_leads_to_the_tutorial(page: Page, root: str) -> None:
    page.goto(f"{root}/index.html")
    page.get_by_role("textbox", name="Search").press_sequentially("midnight")
    page.locator(f".md-search-result__link[href*='{TUTORIAL}']").first.click()
    expect(page.locator("h1")).to_contain_text("on its own")
    assert "midnight" in page.locator("article").inner_text().lower()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_flowchart_is_drawn_again_after_leaving_and_coming_back(browser: Browser, root: str, scheme: Scheme) -> None:
    with visitor(browser, scheme=scheme) as (page, outside, complaints):
        page.goto(f"{root}/index.html")
        page.locator(f".md-sidebar--primary a[href*='{TUTORIAL}']").click()
        assert wait_for_drawings(page, 1) >= 1
        page.locator(".md-sidebar--primary a[href*='durable-objects.html']").click()
        expect(page.locator("h1")).to_contain_text("Durable objects")
        page.go_back()
        assert wait_for_drawings(page, 1) >= 1
        assert page.locator("div.mermaid svg").first.locator(".node").count() > 1
        assert (outside, complaints) == ([], [])


def test_a_flowchart_stays_readable_when_the_light_is_turned_off(page: Page, site_url: str) -> None:
    page.goto(f"{site_url}/{TUTORIAL}")
    wait_for_drawings(page, 1)
    by_day = page.evaluate(LABELS)
    while page.locator("body").get_attribute("data-md-color-scheme") != "slate":
        page.locator("label[for^=__palette]:visible").click()
    by_night = page.evaluate(LABELS)
    assert by_day != by_night
    assert min(Label(*label).contrast for label in by_night) >= 4.5
    assert page.evaluate(DRAWN) >= 1


def test_stats_on_the_page_is_the_file_to_the_byte(page: Page, site_url: str) -> None:
    page.goto(f"{site_url}/{TUTORIAL}")
    block = page.locator(".highlight", has=page.locator("code", has_text="class Stats(")).first
    shown = block.locator("code").first.evaluate("code => code.textContent")
    assert shown in sections((ROOT / "melee_examples/board/lib/stats.py").read_text())

    assert copied(page, block.locator("button[data-md-type=copy]")) == shown.rstrip("\n")


def test_what_is_copied_from_a_transcript_are_its_commands(page: Page, site_url: str, site_folder: Path) -> None:
    name = next(path for path in sorted(site_folder.rglob("*.html")) if "language-console" in path.read_text())
    page.goto(f"{site_url}/{name.relative_to(site_folder).as_posix()}")
    block = page.locator(".language-console").first
    shown = str(block.locator("code").first.evaluate("code => code.textContent"))
    commands = [line[2:] for line in shown.splitlines() if line.startswith(("$ ", "> "))]
    assert commands
    assert copied(page, block.locator("button[data-md-type=copy]")).splitlines() == commands


def copied(page: Page, button: Locator) -> str:
    """What the clipboard holds once the button says it copied."""
    button.click()
    expect(page.locator(".md-dialog__inner")).to_contain_text("Copied")
    return str(page.evaluate("navigator.clipboard.readText()"))


def sections(text: str) -> set[str]:
    """The whole file and each named section of it, without the lines that mark sections."""
    found = {"": ""}
    inside = {""}
    for line in text.splitlines(keepends=True):
        if mark := MARKER.fullmatch(line):
            (inside.add if mark[1] == "start" else inside.discard)(mark[2])
        else:
            found |= {name: found.get(name, "") + line for name in inside}
    return set(found.values())


def test_a_section_is_read_without_the_markers_inside_it() -> None:
    text = "a\n# --8<-- [start:x]\nb\n# --8<-- [start:y]\nc\n# --8<-- [end:y]\n# --8<-- [end:x]\n"
    assert sections(text) == {"a\nb\nc\n", "b\nc\n", "c\n"}
