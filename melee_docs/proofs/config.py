"""Settings: read by the program they are for where that can be told, otherwise by the language's own reader."""

import configparser
import json
import os
import tomllib
from collections.abc import Callable
from pathlib import PurePosixPath

import yaml

from melee.errors import BadConfig
from melee.project import read_config
from melee_docs.blocks import Block
from melee_docs.proofs.programs import has_systemd_analyze, read_caddyfile, read_containerfile, read_unit
from melee_docs.proofs.rules import read_rules
from melee_docs.proofs.verdict import NotProvenError

# By language: what the proof says, and what reads the text.
READERS: dict[str, tuple[str, Callable[[str], object]]] = {
    "toml": ("read as TOML", tomllib.loads),
    "ini": ("read as INI", lambda text: configparser.ConfigParser().read_string(text)),
    "yaml": ("read as YAML", yaml.safe_load),
    "yml": ("read as YAML", yaml.safe_load),
    "json": ("read as JSON", json.loads),
    "dockerfile": ("read by hadolint", read_containerfile),
    "caddyfile": ("read by Caddy", read_caddyfile),
}


def prove(block: Block) -> tuple[str, ...]:
    """Reads the block. One titled, or shown from, `melee.toml`, a service unit or rules for Prometheus has a reader of
    its own.

    Raises `NotProvenError`.
    """
    evidence, read = reader_of(block)
    try:
        read(block.text)
    except (ValueError, configparser.Error, yaml.YAMLError, BadConfig) as error:
        raise NotProvenError(f"{' '.join(str(error).split())}; correct the block") from error
    return (evidence,)


def reader_of(block: Block) -> tuple[str, Callable[[str], object]]:
    names = [PurePosixPath(block.title), *(origin.file for origin in block.origins)]
    if any(name.name == "melee.toml" for name in names):
        return "read by melee", read_config
    if any(name.suffixes[-2:] == [".rules", ".yml"] for name in names):
        return "read as Prometheus rules, PromQL included", read_rules
    if any(name.suffix == ".service" for name in names):
        return reader_of_units()
    return READERS[block.language]


def reader_of_units() -> tuple[str, Callable[[str], object]]:
    """systemd's own. A machine without systemd can still build the guide, whose page then says so; CI may not."""
    if has_systemd_analyze() or os.environ.get("CI"):
        return "read by systemd-analyze", read_unit
    return "read as INI: systemd-analyze is not on this machine", READERS["ini"][1]
