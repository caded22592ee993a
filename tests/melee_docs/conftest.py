"""A small guide in a temporary folder, with real files, rendered and built by MkDocs."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

from melee_docs.blocks import Block, BlockError, collect
from melee_docs.ledger import Ledger, Proof

TORTURE = Path(__file__).parent / "torture"
EXTENSIONS = """\
  - admonition
  - attr_list
  - def_list
  - footnotes
  - md_in_html
  - pymdownx.details
  - pymdownx.highlight:
      pygments_lang_class: true
  - pymdownx.inlinehilite
  - pymdownx.tabbed:
      alternate_style: true
"""
SUPERFENCES = """\
  - pymdownx.superfences:
      custom_fences:
        - name: mermaid
          class: mermaid
          format: !!python/name:pymdownx.superfences.fence_code_format
"""
ORDERS = {
    "ours last": f"{SUPERFENCES}  - pymdownx.snippets\n  - melee_docs.markdown\n",
    "ours first": f"  - melee_docs.markdown\n  - pymdownx.snippets\n{SUPERFENCES}",
    "ours alone": f"  - melee_docs.markdown\n{SUPERFENCES}",
}


class Guide:
    """A project with one page, `docs/index.md`, until a test writes more."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.configure()

    def configure(
        self, extensions: str = ORDERS["ours last"], more: str = "plugins: []\n", theme: str = "mkdocs"
    ) -> None:
        settings = f"site_name: test\ntheme: {theme}\nexclude_docs: included.md\n"
        self.write("mkdocs.yml", f"{settings}{more}markdown_extensions:\n{EXTENSIONS}{extensions}")

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def torture(self) -> None:
        shutil.copytree(TORTURE / "code", self.root / "code")
        for source, page in (("page.md", "index.md"), ("included.md", "included.md")):
            self.write(f"docs/{page}", (TORTURE / source).read_text(encoding="utf-8"))

    def blocks(self, page: str | None = None) -> list[Block]:
        if page is not None:
            self.write("docs/index.md", page)
        return collect(self.root)

    def problems(self, page: str) -> list[str]:
        """What `collect` says about a page, without the page's name: `5: what; what to do`."""
        with pytest.raises(BlockError) as caught:
            self.blocks(page)
        return [line.removeprefix("docs/index.md:") for line in str(caught.value).split("\n")]

    def prove(self, decide: Callable[[Block], Proof]) -> None:
        ledger = [decide(block) for block in self.blocks()]
        Ledger.of(ledger, skips_at_most=0).write(self.root / ".proof" / "proof.json")

    def build(self) -> str:
        """The HTML of `docs/index.md` in the built site."""
        build(load_config(str(self.root / "mkdocs.yml")))
        return (self.root / "site" / "index.html").read_text(encoding="utf-8")


RAN = ("run where it stands, output equal",)


def proven(block: Block, kind: str = "executed", evidence: tuple[str, ...] = RAN, problem: str = "") -> Proof:
    return Proof(block.key, block.page.as_posix(), block.page_line, block.language, kind, evidence, problem)


@pytest.fixture
def guide(tmp_path: Path) -> Guide:
    return Guide(tmp_path)
