"""`python -m melee.objects FOLDER`: what is wrong with the folder is said in one line."""

import subprocess
import sys
from pathlib import Path


def test_a_folder_that_is_no_app_is_named_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "melee.objects", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"melee: {tmp_path} is not an app: it has no app.py")
