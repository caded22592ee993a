"""`python -m melee.builder FOLDER`: builds an app in a process of its own, for a server, which opens no database.

Each mistake is a line on standard output; then the exit code is 1.
"""

import sys
from pathlib import Path

from melee.builder.build import build
from melee.project import Project

if __name__ == "__main__":
    found = build(Project.at(Path(sys.argv[1])))
    for finding in found:
        print(finding)  # noqa: T201 - its output is what the server reads
    sys.exit(bool(found))
