"""Files of deployment, read by the program they are for, or for a Containerfile by hadolint, which needs no daemon.

None of these programs is asked to start anything. Each is given the very text that is shown.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from melee_docs.proofs.verdict import NotProvenError

READ_SECONDS = 60
UNIT = "shown.service"
# What systemd itself adds to every service: systemd.service(5), "Default Dependencies".
UNITS_OF_SYSTEMD = ("sysinit.target", "basic.target", "shutdown.target")
COMMAND_OF_UNIT = re.compile(r"^Exec\w+=[-@:+!|]*(/\S+)", re.MULTILINE)


def has_systemd_analyze() -> bool:
    return _path_of("systemd-analyze") is not None


def read_unit(text: str) -> None:
    """Gives a service unit to `systemd-analyze verify`, in a root of its own where its commands exist.

    systemd skips a key that it does not know and goes on, with exit code 0: whatever it prints is a fault.
    """
    with tempfile.TemporaryDirectory(prefix="melee-unit-") as folder:
        root = Path(folder)
        units = root / "etc" / "systemd" / "system"
        for unit in UNITS_OF_SYSTEMD:
            _write(units / unit, "[Unit]\n")
        for command in COMMAND_OF_UNIT.findall(text):
            _write(root / command.lstrip("/"), "").chmod(0o755)
        _write(units / UNIT, text)
        code, printed = _run("systemd-analyze", "verify", "--man=no", f"--root={root}", UNIT)
    if code or printed:
        located = re.search(rf"^{units}/{UNIT}:(\d+): (.+)$", printed, re.MULTILINE)
        raise _fault(located[2], int(located[1])) if located else _fault(printed)


def read_containerfile(text: str) -> None:
    """Gives a Containerfile to hadolint. Whatever it finds is a fault, and no comment in the file can silence it."""
    code, printed = _run("hadolint", "--no-color", "--format=json", "--disable-ignore-pragma", "-", given=text)
    if code:
        first = json.loads(printed)[0]
        raise _fault(f"{first['code']}: {first['message']}", first["line"])


def read_caddyfile(text: str) -> None:
    """Gives a Caddyfile to `caddy validate`, which sets everything up that it names and listens nowhere."""
    code, printed = _run("caddy", "validate", "--adapter=caddyfile", "--config=-", given=text)
    if code:
        said = "\n".join(json.loads(line)["msg"] for line in printed.splitlines() if '"level":"error"' in line)
        located = re.search(r"-:(\d+)", said)
        raise _fault(said or printed, int(located[1]) if located else None)


def _run(program: str, *arguments: str, given: str = "") -> tuple[int, str]:
    """The exit code and both streams of a program that has a home of its own and none of our variables."""
    path = _path_of(program)
    if path is None:
        raise NotProvenError(f"{program} is not on this machine; install it as CONTRIBUTING.md says")
    with tempfile.TemporaryDirectory(prefix="melee-home-") as home:
        process = subprocess.run(
            [path, *arguments],
            input=given,
            cwd=home,
            env={"HOME": home, "PATH": os.defpath, "LC_ALL": "C.UTF-8"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=READ_SECONDS,
        )
    return process.returncode, process.stdout


def _path_of(program: str) -> str | None:
    """Looks first where pip installs programs, which need not be on the path."""
    return shutil.which(program, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}")


def _fault(said: str, line: int | None = None) -> NotProvenError:
    """What a program said, about a line of the block that it counts from 1, or about all of it."""
    index = None if line is None else line - 1
    return NotProvenError(f"{' '.join(said.split()).rstrip('.')}; correct the block", index)


def _write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file
