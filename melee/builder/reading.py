"""Which files of a folder are an app's Python, and what is wrong with those that are none."""

import ast
import io
import os
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path

from melee.builder.source import Finding, Source

# Made at run time, or no part of the app that is served.
_NOT_OF_THE_APP = {"data", "tests"}


def read_sources(folder: Path) -> tuple[list[Source], list[Finding]]:
    """Every module of the app in a folder, and a finding for each that could not be read, by file.

    Left out are `tests/` and `data/`, whatever is hidden, virtual environments, and folders that are links.
    """
    sources, findings = [], []
    for path in _python_files(folder):
        file = path.relative_to(folder).as_posix()
        read = _read(path, file)
        if isinstance(read, Finding):
            findings.append(read)
            read = Source(file, "", ast.Module([], []), is_read=False)
        sources.append(read)
    return sources, findings


def _python_files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        is_top = Path(place) == folder
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name != "node_modules"
            and not (is_top and name in _NOT_OF_THE_APP)
            and not Path(place, name, "pyvenv.cfg").exists()
        )
        for name in sorted(names):
            # An editor leaves links that lead nowhere, and reading a pipe would have no end.
            if name.endswith(".py") and not name.startswith(".") and Path(place, name).is_file():
                yield Path(place, name)


def _read(path: Path, file: str) -> Source | Finding:
    try:
        content = path.read_bytes()
    except OSError as error:
        return Finding(file, 1, 1, f"it cannot be read: {error.strerror}; make it readable, or remove it")
    if b"\0" in content:
        return _at_byte(file, content, content.index(b"\0"), "it holds NUL bytes, as UTF-16 does; save it as UTF-8")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = io.StringIO(content.decode(encoding), newline=None).read()
    except UnicodeDecodeError as error:
        return _at_byte(file, content, error.start, f"it is not {encoding.upper()} ({error.reason}); save it as UTF-8")
    except SyntaxError as error:
        return Finding(file, 1, 1, f"SyntaxError: {error.msg}; save it as UTF-8")
    try:
        return Source(file, text, _parse(text))
    except SyntaxError as error:
        problem = f"{type(error).__name__}: {error.msg}; correct the file"
        return Finding(file, error.lineno or 1, max(1, error.offset or 1), problem)
    except (ValueError, RecursionError, MemoryError) as error:
        return Finding(file, 1, 1, f"Python cannot read it: {error or type(error).__name__}; write it in a simpler way")


def _at_byte(file: str, content: bytes, index: int, problem: str) -> Finding:
    before = content[:index]
    return Finding(file, before.count(b"\n") + 1, index - before.rfind(b"\n"), problem)


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        # Python warns when the app runs; that is no mistake.
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
        # `return` outside a function, say, is found only here.
        compile(tree, "<app>", "exec", dont_inherit=True)
    return tree
