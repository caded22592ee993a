"""The public names, each brought in by the first to ask for it."""

import subprocess
import sys

import pytest

import melee
from melee.clock import now
from melee.jobs.job import Job
from melee.jobs.resources import Resources
from melee.objects.durable import Durable
from melee.web.app import App


def test_a_public_name_is_what_its_module_has_under_it() -> None:
    ours = melee.App, melee.Durable, melee.Job, melee.Resources, melee.now
    assert ours == (App, Durable, Job, Resources, now)


def test_a_star_brings_the_public_names_and_nothing_else() -> None:
    brought: dict[str, object] = {}
    exec("from melee import *", brought)
    assert brought.keys() - {"__builtins__"} == {"App", "Durable", "Job", "Resources", "now"}


def test_an_editor_is_offered_the_public_names_before_any_was_asked_for() -> None:
    said = subprocess.run(
        [sys.executable, "-c", "import melee; print(*dir(melee))"], capture_output=True, text=True, check=True
    )
    assert {"App", "Durable", "Job", "Resources", "now"} <= set(said.stdout.split())


def test_another_name_is_an_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="module 'melee' has no attribute 'Nothing'"):
        melee.Nothing  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Nothing' from 'melee'"):
        exec("from melee import Nothing")
