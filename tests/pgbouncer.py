"""A real pooler in front of a Postgres, which hands out another connection for each transaction."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from psycopg.conninfo import conninfo_to_dict

_SETTINGS = """
[databases]
* = {server}
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 100
log_connections = 0
log_disconnections = 0
"""


@contextmanager
def pooled(server: str) -> Iterator[str]:
    """The URL of a server behind a pooler with four connections to each of its databases.

    Raises:
        FileNotFoundError: pgbouncer is not installed.
    """
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if not program:
        raise FileNotFoundError("pgbouncer is missing; install it, such as by apt-get install pgbouncer")
    known = {name: value for name, value in conninfo_to_dict(server).items() if value and name != "dbname"}
    user = _who_may_enter(Path(str(known.get("host", ""))))
    with tempfile.TemporaryDirectory(prefix="melee-pgbouncer-") as name:
        folder = Path(name)
        settings = folder / "pgbouncer.ini"
        words = " ".join(f"{name}='{value}'" for name, value in known.items())
        settings.write_text(_SETTINGS.format(server=words, folder=folder))
        if user is not None:
            os.chown(folder, user, -1)
        with subprocess.Popen([program, settings], user=user, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr
            try:
                said = []
                for line in process.stderr:
                    said.append(line)
                    if "process up" in line:
                        break
                else:
                    raise RuntimeError(f"pgbouncer did not start: {''.join(said)}")
                query = urlencode({"host": folder, "port": 6432})
                yield f"postgresql://{known.get('user', 'postgres')}@/{urlsplit(server).path.lstrip('/')}?{query}"
            finally:
                process.kill()


def _who_may_enter(host: Path) -> int | None:
    """The user it runs as if root starts it, which it refuses to be: the one whose socket it connects to."""
    if os.getuid():
        return None
    return host.stat().st_uid if host.is_absolute() else 65534
