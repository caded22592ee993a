"""An app of a few files in a folder, read by the builder; and where something stands in it."""

from pathlib import Path
from textwrap import dedent

from melee.builder.reading import read_sources
from melee.builder.source import Finding, Source


def write_app(folder: Path, **files: str) -> Path:
    """Writes Python files into a folder: `lib__stats`, or `lib/stats`, is `lib/stats.py`. There is an `app.py` in any
    case."""
    for name, text in ({"app": "from melee import App\n\napp = App(__name__)\n"} | files).items():
        file = folder / f"{name if '/' in name else name.replace('__', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text), encoding="utf-8")
    return folder


def sources_of(folder: Path, **files: str) -> list[Source]:
    """The sources of such an app; every file can be read."""
    sources, findings = read_sources(write_app(folder, **files))
    assert findings == []
    return sources


def sources_with_one_unread(folder: Path, file: str = "lib/broken.py", **files: str) -> list[Source]:
    """The sources of such an app; one more file has an error of syntax."""
    sources_of(folder, **files)
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text("def f(:\n", encoding="utf-8")
    sources, findings = read_sources(folder)
    assert [finding.file for finding in findings] == [file]
    return sources


def place_of(folder: Path, mark: str, file: str = "app.py") -> tuple[str, int, int]:
    """File, line and column of the only place where a text stands in a file."""
    text = (folder / file).read_text(encoding="utf-8")
    before, found, after = text.partition(mark)
    assert found, f"{mark!r} is not in {file}"
    assert mark not in after, f"{mark!r} is in {file} twice"
    return file, before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def places(findings: list[Finding]) -> list[tuple[str, int, int]]:
    return [finding[:3] for finding in sorted(findings)]
