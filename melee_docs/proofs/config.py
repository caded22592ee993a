"""TOML, INI, YAML and JSON: read by melee where they are for melee, otherwise by the language's own reader."""

import configparser
import json
import tomllib
from collections.abc import Callable

import yaml

from melee.errors import BadConfig
from melee.project import read_config
from melee_docs.blocks import Block
from melee_docs.proofs.verdict import NotProvenError

READERS: dict[str, Callable[[str], object]] = {
    "toml": tomllib.loads,
    "ini": lambda text: configparser.ConfigParser().read_string(text),
    "yaml": yaml.safe_load,
    "yml": yaml.safe_load,
    "json": json.loads,
}


def prove(block: Block) -> tuple[str, ...]:
    """Reads the block. A block titled, or shown from, `melee.toml` is read by melee. Raises `NotProvenError`."""
    names = {block.title, *(origin.file.name for origin in block.origins)}
    for_melee = any(name.split("/")[-1] == "melee.toml" for name in names)
    read = read_config if for_melee else READERS[block.language]
    try:
        read(block.text)
    except (ValueError, configparser.Error, yaml.YAMLError, BadConfig) as error:
        raise NotProvenError(f"{' '.join(str(error).split())}; correct the block") from error
    return ("read by melee" if for_melee else f"read as {block.language.upper()}",)
