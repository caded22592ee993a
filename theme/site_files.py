"""Files of the site that are made elsewhere: mermaid's script and the ledger of proofs.

An MkDocs hook, so that `mkdocs build` and `mkdocs serve` both have them.
"""

from importlib.resources import files
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

LEDGER = Path(".proof/proof.json")


def on_files(site_files: Files, config: MkDocsConfig) -> Files:
    """Add `assets/mermaid.js`, and `proof.json` when the blocks have been proven."""
    mermaid = files("mermaidx").joinpath("assets", "mermaid.js").read_text(encoding="utf-8")
    site_files.append(File.generated(config, "assets/mermaid.js", content=mermaid))
    ledger = Path(config.config_file_path).parent / LEDGER
    if ledger.exists():
        site_files.append(File.generated(config, "proof.json", abs_src_path=str(ledger)))
    return site_files
