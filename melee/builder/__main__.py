"""`python -m melee.builder FOLDER`: builds an app in a process of its own, for a server, which opens no database.

The mistakes are an array of JSON on standard output.
"""

import json
import sys
from pathlib import Path

from melee.builder.build import build
from melee.project import Project

if __name__ == "__main__":
    sys.stdout.write(json.dumps([str(finding) for finding in build(Project.at(Path(sys.argv[1])))]))
