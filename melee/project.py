"""An app's folder: its paths, its `melee.toml`, and how it is loaded."""

import contextlib
import hashlib
import importlib
import ipaddress
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import tzinfo
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import Annotated
from zoneinfo import ZoneInfo

import msgspec
import tzlocal

from melee.errors import BadConfig, NotAnApp

# The kernel's limit is 104 bytes on some systems and 108 on others.
_SOCKET_PATH_BYTES_AT_MOST = 100

Positive = Annotated[float, msgspec.Meta(gt=0)]


class AppConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[app]`: `timezone` is an IANA name; default: the machine's."""

    timezone: str = ""


class ObjectsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[objects]`: how many processes share the objects, and when they close those that nobody calls."""

    workers: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    idle_seconds: Positive = 60
    open_at_most: Annotated[int, msgspec.Meta(ge=1)] = 200


class WebConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[web]`: how many requests are served at once, for how long, and how many may wait. A child serves
    `requests_per_child` requests and ends; 0 lets it stay."""

    slots: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 4
    budget_seconds: Positive = 30
    requests_per_child: Annotated[int, msgspec.Meta(ge=0)] = 1
    backlog: Annotated[int, msgspec.Meta(ge=0)] = 100


class JobsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[jobs]`: how many executors work on all queues together; 0 for a server that only enqueues. With `queues`, each
    of these has its own, as many as it says, and other queues are left to other servers."""

    workers: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 4
    queues: dict[str, Annotated[int, msgspec.Meta(ge=1, le=1000)]] = {}


class ServerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[server]`: when an app goes to sleep, how long its end may take, which proxies are believed what they say about
    a client: addresses or networks, such as `10.0.0.0/8`; and whether jobs are counted and `GET /metrics` shows that,
    to whoever reaches the port without a proxy."""

    sleep_after_seconds: Positive = 300
    grace_seconds: Positive = 10
    trusted_proxies: list[str] = []
    metrics: bool = False


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`melee.toml`. Every key is optional, an unknown one is refused."""

    app: AppConfig = AppConfig()
    web: WebConfig = WebConfig()
    objects: ObjectsConfig = ObjectsConfig()
    jobs: JobsConfig = JobsConfig()
    server: ServerConfig = ServerConfig()

    @property
    def zone(self) -> tzinfo:
        return ZoneInfo(self.app.timezone) if self.app.timezone else tzlocal.get_localzone()


def read_config(text: str, file: str = "melee.toml") -> Config:
    """The configuration in a text of TOML; `BadConfig` names `file` and what is wrong."""
    try:
        config = msgspec.toml.decode(text, type=Config)
    except msgspec.MsgspecError as error:
        raise BadConfig(file, f"{error}; see the reference of melee.toml") from error
    try:
        _ = config.zone
    except (LookupError, ValueError, OSError) as error:
        problem = f"[app] timezone {config.app.timezone!r} is no IANA time zone; write one such as Europe/Paris"
        raise BadConfig(file, problem) from error
    for proxy in config.server.trusted_proxies:
        try:
            ipaddress.ip_network(proxy)
        except ValueError as error:
            raise BadConfig(file, f"[server] trusted_proxies: {error}; write one such as 10.0.0.0/8") from error
    return config


def config_in(folder: Path) -> Config:
    """What `melee.toml` in a folder says; the defaults when there is none."""
    file = folder / "melee.toml"
    try:
        return read_config(file.read_text(encoding="utf-8"), str(file))
    except FileNotFoundError:
        return Config()
    except UnicodeDecodeError as error:
        raise BadConfig(str(file), f"it is not UTF-8 ({error}); save it as UTF-8") from error
    except OSError as error:
        raise BadConfig(str(file), f"it cannot be read: {error.strerror}") from error


@dataclass(frozen=True)
class Project:
    """The folder of an app, and the folder of its data.

    Args:
        folder: holds `app.py`.
        data: where databases live; default: `data/` in `folder`.
        given_url: takes the place of `DATABASE_URL` of the environment; empty for SQLite, whatever that says.
    """

    folder: Path
    data: Path
    given_url: str | None = None

    @classmethod
    def at(cls, folder: Path, data: Path | None = None, given_url: str | None = None) -> "Project":
        """The app in `folder`; raises `NotAnApp` when there is no `app.py`."""
        folder = folder.resolve()
        if not (folder / "app.py").is_file():
            raise NotAnApp(str(folder), "it has no app.py; name the folder of an app, or go there")
        return cls(folder, (data or folder / "data").resolve(), given_url)

    @cached_property
    def config(self) -> Config:
        return config_in(self.folder)

    @property
    def database(self) -> Path:
        return self.data / "app.sqlite3"

    @property
    def database_url(self) -> str:
        """Where the app's database is when it is in Postgres, as `DATABASE_URL` says; empty for SQLite.

        Raises:
            BadConfig: the variable names something else.
        """
        url = os.environ.get("DATABASE_URL", "") if self.given_url is None else self.given_url
        if url and not url.startswith(("postgres://", "postgresql://")):
            problem = "it is no URL of Postgres; write one such as postgresql://user@host/name, or unset it for SQLite"
            raise BadConfig("DATABASE_URL", problem)
        return url

    @property
    def migrations(self) -> Path:
        return self.folder / "db"

    @property
    def handles_file(self) -> Path:
        return self.folder / ".melee" / "objects.py"

    @property
    def orders(self) -> Path:
        """Where the server takes orders, such as `melee reload`."""
        return self.socket_file("server.sock")

    @property
    def counts(self) -> Path:
        """Where the server takes what is counted of jobs."""
        return self.socket_file("counts.sock")

    def socket_file(self, name: str) -> Path:
        """The path of a socket: in the data folder, or, when that is too long, in a folder of the temporary directory
        that belongs to this user and this data folder alone."""
        path = self.data / name
        if len(os.fsencode(path)) <= _SOCKET_PATH_BYTES_AT_MOST:
            return path
        digest = hashlib.sha256(os.fsencode(self.data)).hexdigest()[:16]
        folder = Path(tempfile.gettempdir()) / f"melee-{os.getuid()}-{digest}"
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid != os.getuid():
            raise NotAnApp(
                str(self.folder),
                f"its path is too long for a socket and {folder} belongs to another user; move it to a shorter path",
            )
        return folder / name

    def load(self) -> ModuleType:
        """Imports `app.py` afresh and returns the module; modules of an app loaded earlier are forgotten.

        Raises:
            NotAnApp: it cannot be imported, with the place and the reason; or has no `app`.
        """
        _forget_loaded()
        _forget_namesakes(self.folder)
        _loaded.append(self.folder)
        importlib.invalidate_caches()
        sys.path.insert(0, str(self.folder))
        try:
            module = importlib.import_module("app")
        except (Exception, SystemExit) as error:
            raise NotAnApp(str(self.folder), f"app.py does not load: {problem_of(error, self.folder)}") from error
        if not callable(getattr(module, "app", None)):
            raise NotAnApp(str(self.folder), "app.py defines no `app`; write `app = App(__name__)`")
        return module


# The app on sys.path. Its modules have names that another app has too (`app`, `lib.stats`), so one is loaded at a time.
_loaded: list[Path] = []
_NAMES = {"app", "lib", "jobs"}


def _forget_loaded() -> None:
    while _loaded:
        folder = _loaded.pop()
        # A test that puts sys.path back may have taken it away already.
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))
        _forget(partial(is_code_of, folder))


def _forget_namesakes(folder: Path) -> None:
    """Forgets what somebody else imported under the names that this app's code has."""
    _forget(lambda name, module: name.partition(".")[0] in _NAMES and not is_code_of(folder, name, module))


def _forget(is_meant: Callable[[str, ModuleType], bool]) -> None:
    # All are found before one is forgotten: the path of a namespace package cannot be read without its parent.
    for name in [name for name, module in list(sys.modules.items()) if is_meant(name, module)]:
        del sys.modules[name]


def is_code_of(folder: Path, name: str, module: ModuleType) -> bool:
    """Whether a module was found by way of `folder` on sys.path. One that a test runner imports by a longer name, such
    as `melee_examples.board.tests`, was not."""
    path = folder.joinpath(*name.split("."))
    places = (getattr(module, "__file__", None), *getattr(module, "__path__", ()))
    found = {path, path / "__init__.py", path.with_name(f"{path.name}.py")}
    return not path.is_relative_to(folder / "tests") and any(Path(place) in found for place in places if place)


def problem_of(error: BaseException, folder: Path) -> str:
    """Why something in a folder cannot be imported, in one line without a traceback: `lib/stats.py:12: SyntaxError: …`,
    with the last place in the folder's own files, if it was there."""
    if isinstance(error, SyntaxError) and error.filename:
        place, message = f"{error.filename}:{error.lineno}: ", error.msg
    else:
        every = traceback.extract_tb(error.__traceback__)
        frames = [frame for frame in every if Path(frame.filename).is_relative_to(folder)]
        place, message = (f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""), str(error)
    return f"{place.removeprefix(f'{folder}/')}{type(error).__name__}: {' '.join(message.split())}"
