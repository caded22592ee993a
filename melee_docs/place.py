"""Where the page under conversion stands in its site: MkDocs and Zensical each tell it in their own way."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from markdown import Markdown
from markdown.util import Registry
from mkdocs.utils import get_relative_url


@dataclass(frozen=True)
class Place:
    """The page `page` below the folder `docs`, from whose `url` links are followed.

    `root` is the folder of the site's configuration; `read` gives the page's source with its front matter.
    """

    root: Path
    docs: Path
    page: str
    url: str
    directory_urls: bool
    read: Callable[[], str]

    def link_to(self, page: str) -> str:
        """The address of another page, written without its `.md`, as seen from this one."""
        return get_relative_url(page + ("/" if self.directory_urls else ".html"), self.url)


def place_of(md: Markdown) -> Place | None:
    """The place of the page that `md` converts; None where no site is built. Known only once the conversion runs."""
    if mkdocs := registered(md.treeprocessors, "relpath"):
        config, file = mkdocs.config, mkdocs.file
        root, docs = Path(config.config_file_path).resolve().parent, Path(config.docs_dir).resolve()
        return Place(root, docs, file.src_uri, file.url, config.use_directory_urls, lambda: str(file.content_string))
    if zensical := registered(md.preprocessors, "rendering_context"):
        config, page = zensical.config, zensical.page
        root = Path(config["root_dir"]).resolve()
        docs = root / config["docs_dir"]
        read = partial((docs / page.path).read_text, encoding="utf-8-sig")
        # Zensical takes every link in the HTML for one between sources, and makes it one between pages afterwards.
        return Place(root, docs, page.path, page.path, config["use_directory_urls"], read)
    return None


def registered(registry: Registry[Any], name: str) -> Any:
    if name not in registry:
        return None
    return registry[name]
