"""What can be served: the app in a folder, or any WSGI callable that can be imported."""

import importlib
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any

from melee.errors import NotAnApp
from melee.project import Config, Project, config_in, problem_of

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@dataclass(frozen=True)
class AppFolder:
    """An app with its objects."""

    project: Project

    @property
    def name(self) -> str:
        return self.project.folder.name

    @property
    def argument(self) -> str:
        return str(self.project.folder)

    @property
    def folder(self) -> Path:
        return self.project.folder

    @property
    def config(self) -> Config:
        return self.project.config

    def load(self) -> WsgiApp:
        app: WsgiApp = self.project.load().app
        return app


@dataclass(frozen=True)
class PlainCallable:
    """`package.module:app`: a Flask or Django app, say, that knows nothing of melee. It has no objects.

    Args:
        argument: as it was given.
        folder: where the module is found, and a `melee.toml` if there is one.
    """

    argument: str
    folder: Path

    @property
    def name(self) -> str:
        return self.argument

    @cached_property
    def config(self) -> Config:
        return config_in(self.folder)

    def load(self) -> WsgiApp:
        """Raises `NotAnApp` when it cannot be imported or called, with the place and the reason."""
        module, _, name = self.argument.partition(":")
        sys.path.insert(0, str(self.folder))
        try:
            found: Any = importlib.import_module(module)
        except (Exception, SystemExit) as error:
            raise NotAnApp(self.argument, f"it does not load: {problem_of(error, self.folder)}") from error
        try:
            found = attrgetter(name)(found)
        except AttributeError:
            raise NotAnApp(self.argument, f"the module {module} has no `{name}`") from None
        if not callable(found):
            raise NotAnApp(self.argument, f"it is a {type(found).__name__}, which cannot be called as WSGI apps are")
        app: WsgiApp = found
        return app


Target = AppFolder | PlainCallable


def target_named(argument: str, here: Path) -> Target:
    """The folder of an app, or `module:callable` as seen from the folder `here`; raises `NotAnApp`."""
    is_callable = ":" in argument and not (here / argument).exists()
    return PlainCallable(argument, here.resolve()) if is_callable else AppFolder(Project.at(here / argument))
