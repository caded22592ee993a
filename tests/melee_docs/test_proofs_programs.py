"""Files of deployment, read by the real programs: those that the guide shows, and the same with a fault in them."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from melee_docs.proofs import config
from melee_docs.proofs.programs import has_systemd_analyze
from melee_docs.proofs.verdict import NotProvenError
from tests.melee_docs.a_project import AProject, in_page

ROOT = Path(__file__).parents[2]
UNIT, CONTAINERFILE, CADDYFILE = "board.service", "Containerfile", "Caddyfile"
LANGUAGES = {UNIT: "ini", CONTAINERFILE: "dockerfile", CADDYFILE: "caddyfile"}
EVIDENCE = {UNIT: "read by systemd-analyze", CONTAINERFILE: "read by hadolint", CADDYFILE: "read by Caddy"}
needs_systemd = pytest.mark.skipif(not has_systemd_analyze(), reason="systemd-analyze is not on this machine")
FILES = [pytest.param(UNIT, marks=needs_systemd), CONTAINERFILE, CADDYFILE]


@dataclass(frozen=True)
class Fault:
    """What stands in a file instead of what is right there, what its program says, and whether it names the line."""

    file: str
    right: str
    wrong: str
    said: str
    names_line: bool = True


FAULTS = {
    "a key is misspelt": Fault(UNIT, "KillMode=", "KilMode=", "'KilMode'"),
    "a section is misspelt": Fault(UNIT, "[Service]", "[Servce]", "'Servce'"),
    "a value is none of the known": Fault(UNIT, "KillMode=mixed", "KillMode=mixd", "mixd"),
    "a time is no time": Fault(UNIT, "TimeoutStopSec=20", "TimeoutStopSec=20x", "20x"),
    "a path is relative": Fault(UNIT, "ReadWritePaths=/srv/board/data", "ReadWritePaths=data", "not absolute"),
    "a unit that it needs does not exist": Fault(
        UNIT, "Wants=network-online.target", "Requires=no-such.target", "no-such.target not found", names_line=False
    ),
    "the command is not there": Fault(UNIT, "ExecStart=/srv/board/venv/bin/", "ExecStart=", "melee", names_line=False),
    "an instruction is misspelt": Fault(CONTAINERFILE, "EXPOSE 8000", "EXPOS 8000", "unexpected 'E'"),
    "a list lacks a comma": Fault(CONTAINERFILE, '"melee", "serve"', '"melee" "serve"', "JSON notation"),
    "a list is not closed": Fault(CONTAINERFILE, '"8000"]', '"8000"', "JSON notation"),
    "an argument is missing": Fault(CONTAINERFILE, "COPY db db", "COPY db", "two arguments"),
    "a flag is unknown": Fault(CONTAINERFILE, "COPY db db", "COPY --form=build db db", "--form"),
    "a port is no number": Fault(CONTAINERFILE, "EXPOSE 8000", "EXPOSE http", "unexpected 'h'"),
    "an image has no version": Fault(CONTAINERFILE, "FROM python:3.13-slim", "FROM python", "version of an image"),
    "a fault is told to be ignored": Fault(
        CONTAINERFILE, "FROM python:3.13-slim", "# hadolint ignore=DL3006\nFROM python", "version of an image"
    ),
    "a directive is misspelt": Fault(CADDYFILE, "reverse_proxy", "reverse_prox", "reverse_prox"),
    "a size is no size": Fault(CADDYFILE, "32MiB", "32Mig", "mig"),
    "an address is none": Fault(CADDYFILE, "127.0.0.1:8000", "127.0.0.1:eight", "eight"),
    "a block is not closed": Fault(CADDYFILE, "8000\n}", "8000\n", "expecting '}'"),
}


@pytest.mark.parametrize("file", FILES)
def test_a_file_of_deployment_is_read_by_its_program(file: str) -> None:
    block = AProject(ROOT).block_of(f"snippets/deploy/{file}", language=LANGUAGES[file])
    assert config.prove(block) == (EVIDENCE[file],)


@pytest.mark.parametrize("fault", [pytest.param(fault, id=name) for name, fault in FAULTS.items()])
def test_a_planted_fault_is_found_where_it_stands(fault: Fault) -> None:
    if fault.file == UNIT and not has_systemd_analyze():
        pytest.skip("systemd-analyze is not on this machine")
    right = (ROOT / "snippets" / "deploy" / fault.file).read_text(encoding="utf-8")
    assert right.count(fault.right) == 1
    wrong = right.replace(fault.right, fault.wrong)
    with pytest.raises(NotProvenError) as raised:
        config.prove(in_page(LANGUAGES[fault.file], wrong, title=fault.file))
    assert fault.said in raised.value.reason
    lines_above = wrong.partition(fault.wrong)[0].count("\n") + fault.wrong.rstrip().count("\n")
    assert raised.value.index == (lines_above if fault.names_line else None)


@needs_systemd
def test_a_unit_is_read_under_the_name_of_its_title_too() -> None:
    with pytest.raises(NotProvenError, match=r"'Colour' .*; correct the block$"):
        config.prove(in_page("ini", "[Service]\nExecStart=/bin/true\nColour=red\n", title="deploy/x.service"))


def test_without_systemd_a_unit_is_read_as_ini_and_the_proof_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    block = in_page("ini", "[Service]\nExecStart=/bin/true\n", title="x.service")
    assert config.prove(block) == ("read as INI: systemd-analyze is not on this machine",)


def test_without_systemd_ci_proves_no_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CI", "true")
    with pytest.raises(NotProvenError, match="systemd-analyze is not on this machine; install it"):
        config.prove(in_page("ini", "[Service]\nExecStart=/bin/true\n", title="x.service"))
