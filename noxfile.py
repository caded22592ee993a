"""What is run on melee, by name: `python -m nox` runs the checks, `python -m nox -s serve` shows the guide.

`proof` writes `.proof/`, `site` reads it and writes `site/`, `browser` reads that; so they stand in this order.
"""

import shutil
import socket
from pathlib import Path

import nox
from nox.command import CommandFailed
from nox.virtualenv import VirtualEnv

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["lint", "types", "tests", "proof", "site", "browser"]
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"
nox.options.error_on_external_run = True

LEDGER = Path(".proof/proof.json")
WORKSHOP = Path(".nox/workshop")
HOST, PORT = "127.0.0.1", 8000
has_installed: list[Path] = []
MKDOCS_ENV = {"NO_MKDOCS_2_WARNING": "1"}


@nox.session
def lint(session: nox.Session) -> None:
    """Read the source for mistakes and for its layout."""
    install(session, "lint")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types of everything, tests included."""
    enter_workshop(session)
    session.run("mypy")
    for app in sorted(Path("melee_examples").glob("*/app.py")):
        session.run("mypy", "--no-explicit-package-bases", str(app.parent))


@nox.session
def tests(session: nox.Session) -> None:
    """Test the packages, the fast tests first; what the pages show is tested by `proof`."""
    enter_workshop(session)
    packages = [] if names_a_path(session.posargs) else ["tests", "--ignore=tests/site", "--ignore=tests/docs"]
    # A part of the tests may be all fast or all slow; pytest ends with 5 when it finds nothing to run.
    good = [0, 5] if session.posargs else [0]
    # Most of the slow ones wait for other processes, so three at a time are right for two cores.
    for speed, at_a_time in (("not slow", "2"), ("slow", "3")):
        arguments = ["-n", at_a_time, "-m", speed, *packages, *session.posargs]
        session.run("python", "-m", "pytest", *arguments, success_codes=good)


@nox.session
def proof(session: nox.Session) -> None:
    """Prove every block of the guide: run the tests of what its pages show, then the pages themselves."""
    enter_workshop(session)
    prove(session)


@nox.session
def site(session: nox.Session) -> None:
    """Build the guide into `site/`; a block without a proof or a dead link is an error."""
    refuse_to_go_on_without_proofs(session)
    install(session, project=True)
    build(session)


@nox.session
def browser(session: nox.Session) -> None:
    """Open every built page and the dev console in a real browser, on a desk and on a phone, by day and by night."""
    install(session, "browser", "tests", project=True)
    session.run("python", "-m", "pytest", "-rs", "tests/site", *session.posargs)


@nox.session(default=False)
def serve(session: nox.Session) -> None:
    """Prove and build the guide, then serve it at http://127.0.0.1:8000 and again after each edit."""
    refuse_a_taken_port(session)
    session.log("1 of 4: installing what the guide needs")
    enter_workshop(session)
    session.log("2 of 4: proving every block of code")
    prove(session)
    session.log("3 of 4: building the site into site/")
    build(session)
    session.log(f"4 of 4: serving http://{HOST}:{PORT}, Ctrl-C ends it")
    session.log("An edited page is built again at once; its changed blocks show ✗ until the next `nox -s proof`.")
    session.run("mkdocs", "serve", "--livereload", "--no-strict", "-a", f"{HOST}:{PORT}", env=MKDOCS_ENV)


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Measure durable objects, requests and durable jobs beside what else does the same; wants an idle machine."""
    install(session, "benchmarks", project=True)
    session.run("python", "benchmarks/objects.py", *session.posargs)
    session.run("python", "benchmarks/serving.py", *session.posargs)
    session.run("python", "benchmarks/jobs.py", *session.posargs)


@nox.session(default=False)
def zensical(session: nox.Session) -> None:
    """Build the same guide into `site/` with Zensical, and read it in a browser; its search is not tested."""
    refuse_to_go_on_without_proofs(session)
    install(session, "browser", "tests", project=True)
    session.install("zensical")
    session.run("python", "-m", "pytest", "-rs", "tests/melee_docs/test_place.py")
    session.run("zensical", "build", "--clean", "--strict", env={"MELEE_DOCS_STRICT": "1"})
    # What theme/site_files.py adds in MkDocs; Zensical runs no hooks.
    script = "import mermaidx, shutil; shutil.copy(f'{mermaidx.__path__[0]}/assets/mermaid.js', 'site/assets')"
    session.run("python", "-c", script)
    shutil.copy(LEDGER, "site")
    session.run("python", "-m", "pytest", "-rs", "tests/site", "-k", "not search", *session.posargs)


def names_a_path(arguments: list[str]) -> bool:
    """Whether one is a test file, folder or test to run; `-k melee` is none, though there is a folder of that name."""
    return any("/" in argument and Path(argument.partition("::")[0]).exists() for argument in arguments)


def install(session: nox.Session, *groups: str, project: bool = False) -> None:
    """Install dependency groups of pyproject.toml and, where it is asked for, the project with what its guide needs."""
    wanted = nox.project.dependency_groups(nox.project.load_toml(), *groups)
    session.install(*(["--editable", ".[docs]"] if project else []), *wanted)


def enter_workshop(session: nox.Session) -> None:
    """Go over to the environment that `types`, `tests` and `proof` share, for each needs nearly all of it and making it
    takes half a minute; what a run has installed there once it has."""
    environment = session.virtualenv
    if not isinstance(environment, VirtualEnv):
        session.error("It needs a virtual environment: leave out --no-venv")
    environment.location_name = str(WORKSHOP)
    environment.location = environment.env["VIRTUAL_ENV"] = str(WORKSHOP.absolute())
    environment.create()
    if not has_installed:
        install(session, "proof", "types", project=True)
        has_installed.append(WORKSHOP)


def prove(session: nox.Session) -> None:
    """Write `.proof/`: which tests ran which lines, then what proves each block. A failed run leaves no old ledger."""
    LEDGER.unlink(missing_ok=True)
    plugin = ["-p", "melee_docs.pytest_plugin", f"--proof={LEDGER.parent}"]
    failed = None
    try:
        session.run("python", "-m", "pytest", *plugin, "melee_examples", "tests/docs")
    except CommandFailed as failure:
        # Which pages show what no longer works is still worth knowing.
        failed = failure
    session.run("python", "-m", "melee_docs", "prove")
    if failed:
        raise failed


def build(session: nox.Session) -> None:
    """Write `site/`, with the ledger as `site/proof.json`."""
    session.run("mkdocs", "build", env=MKDOCS_ENV | {"MELEE_DOCS_STRICT": "1"})
    session.log("The guide is built: site/index.html opens from the folder, too.")


def refuse_to_go_on_without_proofs(session: nox.Session) -> None:
    if not LEDGER.exists():
        session.error(f"{LEDGER} is missing. Prove the blocks first: python -m nox -s proof")


def refuse_a_taken_port(session: nox.Session) -> None:
    """Say so before minutes of proving, not after."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, PORT))
        except OSError as error:
            session.error(f"Port {PORT} of {HOST} cannot be used ({error.strerror}). End what listens there first")
