"""`python -m melee.objects FOLDER [DATA]`: the object worker of the app in a folder."""

import sys
from collections.abc import Callable
from pathlib import Path

from melee import log
from melee.clock import Clock, SystemClock
from melee.errors import BadInput
from melee.objects.hosting import hosted
from melee.objects.worker import Worker
from melee.project import Project


def serve(project: Project, clock: Clock, reached: Callable[[str], None] = lambda _point: None) -> None:
    """Loads an app and serves its objects until SIGTERM."""
    project.load()
    with hosted(project, clock, reached) as host:
        Worker(host, project.socket, clock).run()


def main() -> None:
    log.to_json()
    folder, *data = sys.argv[1:]
    try:
        serve(Project.at(Path(folder), Path(data[0]) if data else None), SystemClock())
    except BadInput as error:
        sys.exit(f"melee: {error}")


if __name__ == "__main__":
    main()
