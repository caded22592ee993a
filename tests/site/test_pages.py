"""What holds on every page, whoever reads it: on a desk or a phone, by day or by night."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.site.visits import SCHEMES, Scheme, Visit, contrast, visit

pytestmark = pytest.mark.browser

READABLE = 4.5  # WCAG 2, level AA, for small text


def test_no_page_asks_anything_of_another_machine(visits: list[Visit]) -> None:
    assert {str(seen): seen.outside for seen in visits if seen.outside} == {}


def test_the_console_of_no_page_complains(visits: list[Visit]) -> None:
    assert {str(seen): seen.complaints for seen in visits if seen.complaints} == {}


def test_no_page_scrolls_sideways(visits: list[Visit]) -> None:
    assert {str(seen): seen.overflow for seen in visits if seen.overflow > 0} == {}


def test_every_block_shows_what_proves_it(visits: list[Visit]) -> None:
    assert {seen.page: seen.unproven for seen in visits if seen.unproven} == {}


def test_every_diagram_is_drawn(visits: list[Visit]) -> None:
    assert {str(seen): (seen.drawn, seen.diagrams) for seen in visits if seen.drawn != seen.diagrams} == {}
    assert any(seen.diagrams for seen in visits), "the guide shows no diagram at all"


def test_every_diagram_is_seen_whole(visits: list[Visit]) -> None:
    assert {str(seen): seen.cut_off for seen in visits if seen.cut_off} == {}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_label_of_a_diagram_is_readable(visits: list[Visit], scheme: Scheme) -> None:
    labels = {label for seen in visits if seen.scheme == scheme for label in seen.labels}
    assert labels, "no diagram has a label"
    assert {label: label.contrast for label in labels if label.contrast < READABLE} == {}


def test_black_on_white_is_the_strongest_contrast_and_a_colour_on_itself_is_none() -> None:
    assert contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == pytest.approx(21)
    assert contrast("rgb(90, 120, 30)", "rgb(90, 120, 30)") == 1


def test_a_colour_that_shines_through_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'rgba\(0, 0, 0, 0.5\)' is not an opaque colour"):
        contrast("rgba(0, 0, 0, 0.5)", "rgb(255, 255, 255)")


FAULTS = """
<link rel="preconnect" href="https://fonts.example">
<main class="md-content">
  <img src="http://203.0.113.7/picture.png">
  <script>new WebSocket("ws://203.0.113.7/socket")</script>
  <script>console.error("something is wrong")</script>
  <script>throw new Error("and nobody caught it")</script>
  <div class="highlight"><pre><code>print("nobody ran me")\n</code></pre></div>
  <div class="highlight"><pre><code>print("this one ran")\n</code></pre><p class="proof">✓ test_it</p></div>
  <div class="highlight"><pre><code>print("refuted")\n</code></pre><p class="proof">✗ no test runs line 1</p></div>
  <div style="width: 2000px">wide</div>
</main>
"""


def test_each_planted_fault_is_noticed(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(f"<!doctype html><meta charset=utf-8>{FAULTS}")
    [seen] = visit(browser, tmp_path.as_uri(), ["index.html"], width=390, scheme="light", screenshots=tmp_path)

    assert sorted(seen.outside) == [
        "http://203.0.113.7/picture.png",
        "https://fonts.example/",
        "ws://203.0.113.7/socket",
    ]
    assert "something is wrong" in seen.complaints
    assert any("and nobody caught it" in complaint for complaint in seen.complaints)
    assert seen.unproven == ['print("nobody ran me")', 'print("refuted")']
    assert seen.overflow > 1600


def test_a_diagram_that_is_not_drawn_or_cut_off_and_a_label_nobody_can_read_are_noticed(
    browser: Browser, tmp_path: Path
) -> None:
    script = """
      const drawn = document.createElement("div")
      drawn.className = "mermaid"
      drawn.attachShadow({ mode: "closed" }).innerHTML = `<svg><g class="node">
        <rect style="fill: #222"></rect><text class="nodeLabel" style="color: #333">dark on dark</text></g></svg>`
      drawn.style.cssText = "overflow-x: auto; width: 60px"
      document.querySelector("pre").replaceWith(drawn)
    """
    page = f'<pre class="mermaid"></pre><pre class="mermaid"></pre><script>{script}</script>'
    (tmp_path / "index.html").write_text(page)
    [seen] = visit(
        browser,
        tmp_path.as_uri(),
        ["index.html"],
        width=390,
        scheme="dark",
        screenshots=tmp_path,
        patience_seconds=1,
    )

    assert (seen.drawn, seen.diagrams, seen.cut_off) == (1, 2, 1)
    assert [label.text for label in seen.labels] == ["dark on dark"]
    assert seen.labels[0].contrast < READABLE
