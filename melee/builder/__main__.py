"""`python -m melee.builder FOLDER`: builds an app in a process of its own, for a server, which opens no database.

The mistakes are an array of JSON on standard output, with what kept it from building among them.
"""

import json
import sys
from pathlib import Path

from melee.builder.build import build
from melee.errors import BadInput
from melee.project import Project


def _found(folder: Path) -> list[str]:
    try:
        return [str(finding) for finding in build(Project.at(folder))]
    except BadInput as error:
        return [str(error)]
    except OSError as error:
        return [f"{error.filename}: {error.strerror}"]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_found(Path(sys.argv[1]))))
