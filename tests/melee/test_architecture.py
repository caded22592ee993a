"""The layout of the house holds: imports go down, time is read in one place, and one module chooses the words."""

import ast
from collections.abc import Callable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

FLOORS: dict[str, int] = {
    **dict.fromkeys(["errors", "clock", "log", "log_output", "outgoing", "shape", "words"], 0),
    **dict.fromkeys(["store", "project", "exchange", "http"], 1),
    **dict.fromkeys(["processes"], 2),
    **dict.fromkeys(["objects"], 3),
    # A job calls objects.
    **dict.fromkeys(["jobs"], 4),
    **dict.fromkeys(["web"], 5),
    **dict.fromkeys(["builder"], 6),
    **dict.fromkeys(["server", "console", "testing", "testing_jobs"], 7),
    **dict.fromkeys(["cli"], 8),
    # The package itself, with the public names: the roof, which nothing below may lean on.
    **dict.fromkeys(["", "__main__"], 9),
}
"""The floor of each room, a room being a module or a package right inside `melee/`."""

LINES_AT_MOST = 300
READS_THE_TIME = {
    *(f"time.{name}" for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")),
    *(f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")),
    "datetime.date.today",
}
LOGGERS = {"log", "_log", "logger", "logging"}


class House:
    """The modules of `melee/` below a folder, as text and as syntax trees, by their dotted names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = {_dotted(file.relative_to(folder)): file for file in sorted(folder.glob("melee/**/*.py"))}
        self.trees = {name: ast.parse(file.read_text(encoding="utf-8")) for name, file in self.files.items()}

    def imports(self, module: str, when_it_runs: bool = False) -> Iterator[str]:
        """What a module imports, as deep as it is known to be a module: `from melee import log` is `melee.log`.

        Args:
            when_it_runs: without what only a type checker reads.
        """
        tree = self.trees[module]
        left_out = _for_checkers_only(tree) if when_it_runs else set()
        for node in ast.walk(tree):
            if node in left_out:
                continue
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute(module, node)
                for alias in node.names:
                    deeper = f"{base}.{alias.name}"
                    yield deeper if deeper in self.files else base

    def is_package(self, module: str) -> bool:
        return self.files[module].name == "__init__.py"

    def _absolute(self, module: str, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = module.split(".")
        kept = parts[: len(parts) - node.level + self.is_package(module)]
        return ".".join([*kept, *filter(None, [node.module])])


def imports_that_go_up(house: House) -> Iterator[str]:
    for module in house.files:
        for imported in house.imports(module):
            if _is_ours(imported) and FLOORS.get(_room(imported), 9) > FLOORS.get(_room(module), 9):
                yield f"{module} imports {imported}, which is on a higher floor"


def rooms_without_a_floor(house: House) -> Iterator[str]:
    for room in sorted({_room(module) for module in house.files} - FLOORS.keys()):
        yield f"melee.{room} is on no floor; add it to FLOORS and to the page that describes the layout"


def packages_side_by_side(house: House) -> Iterator[str]:
    packages = {_room(module) for module in house.files if house.is_package(module)}
    for module in house.files:
        for imported in filter(_is_ours, house.imports(module)):
            one, other = _room(module), _room(imported)
            if one != other and {one, other} <= packages and FLOORS.get(one) == FLOORS.get(other):
                yield f"{module} imports {imported}, a package on its own floor"


def circles(house: House) -> Iterator[str]:
    graph = {module: set(house.imports(module, when_it_runs=True)) & house.files.keys() for module in house.files}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield "a circle: " + " imports ".join(reversed(error.args[1]))


def imports_from_other_packages_of_the_repository(house: House) -> Iterator[str]:
    for module in house.files:
        for imported in house.imports(module):
            if imported.split(".")[0] in {"melee_docs", "melee_examples", "tests", "snippets", "benchmarks"}:
                yield f"{module} imports {imported}; melee stands alone"


def time_read_outside_the_clock(house: House) -> Iterator[str]:
    for module, tree in house.trees.items():
        names = _imported_names(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute | ast.Name) and module != "melee.clock":
                first, _, rest = ast.unparse(node).partition(".")
                read = ".".join(filter(None, [names.get(first, ""), rest]))
                if read in READS_THE_TIME:
                    yield f"{module}:{node.lineno} reads {read}; only melee.clock does"


def packages_that_do_more_than_say_what_they_are(house: House) -> Iterator[str]:
    for module, tree in house.trees.items():
        if house.is_package(module) and module != "melee" and (len(tree.body) != 1 or not ast.get_docstring(tree)):
            yield f"{module}/__init__.py is more or less than a docstring"


def long_files(house: House) -> Iterator[str]:
    for module, file in house.files.items():
        lines = len(file.read_text(encoding="utf-8").splitlines())
        if lines > LINES_AT_MOST:
            yield f"{module} has {lines} lines; at most {LINES_AT_MOST}"


def words_chosen_outside_the_log(house: House) -> Iterator[str]:
    for module, tree in house.trees.items():
        for node in ast.walk(tree):
            if module != "melee.log" and isinstance(node, ast.Call) and _composes_a_line(node):
                yield f"{module}:{node.lineno} composes a line of the log; announce it to melee.log"


Rule = Callable[[House], Iterator[str]]
RULES: list[Rule] = [
    imports_that_go_up,
    rooms_without_a_floor,
    packages_side_by_side,
    circles,
    imports_from_other_packages_of_the_repository,
    time_read_outside_the_clock,
    packages_that_do_more_than_say_what_they_are,
    long_files,
    words_chosen_outside_the_log,
]

PACKAGES = {"server/__init__.py": '"""The server."""', "console/__init__.py": '"""The console."""'}
PLANTED: list[tuple[Rule, dict[str, str], str]] = [
    (imports_that_go_up, {"store/lock.py": "from melee.objects.host import Host"}, "melee.store.lock imports melee"),
    (imports_that_go_up, {"shape.py": "import melee.store.lock"}, "melee.shape imports melee.store.lock"),
    (imports_that_go_up, {"shape.py": "from .store import lock", "store/lock.py": ""}, "melee.shape imports melee.st"),
    (imports_that_go_up, {"web/app.py": "def f():\n    from melee import testing", "testing.py": ""}, "melee.web.app"),
    (imports_that_go_up, {"web/app.py": "from melee import now"}, "melee.web.app imports melee, which is on a higher"),
    (rooms_without_a_floor, {"attic/box.py": ""}, "melee.attic is on no floor"),
    (
        packages_side_by_side,
        {"server/server.py": "from ..console import pages", **PACKAGES},
        "melee.s",
    ),
    (circles, {"shape.py": "from melee import clock", "clock.py": "import melee.shape"}, "a circle: melee."),
    (circles, {"store/a.py": "from .b import c", "store/b.py": "from . import a"}, "a circle: melee.store."),
    (imports_from_other_packages_of_the_repository, {"shape.py": "import melee_docs.blocks"}, "melee.shape imports"),
    (time_read_outside_the_clock, {"shape.py": "import time\ntime.time()"}, "melee.shape:2 reads time.time"),
    (time_read_outside_the_clock, {"shape.py": "from time import monotonic as m\nm()"}, "melee.shape:2 reads time.mo"),
    (time_read_outside_the_clock, {"shape.py": "import datetime as d\nd.datetime.utcnow()"}, "melee.shape:2 reads da"),
    (
        time_read_outside_the_clock,
        {"shape.py": "from datetime import datetime\nx = datetime.now"},
        "melee.shape:2 read",
    ),
    (packages_that_do_more_than_say_what_they_are, {"store/__init__.py": '"""Store."""\nimport os'}, "melee.store/"),
    (
        packages_that_do_more_than_say_what_they_are,
        {"store/__init__.py": ""},
        "melee.store/__init__.py is more or less",
    ),
    (long_files, {"shape.py": "x = 1\n" * 301}, "melee.shape has 301 lines; at most 300"),
    (words_chosen_outside_the_log, {"shape.py": 'log.info(f"hit {1}")'}, "melee.shape:1 composes a line of the log"),
    (words_chosen_outside_the_log, {"shape.py": 'self.log.info(f"hit {1}")'}, "melee.shape:1 composes a line"),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps_the_rule(rule: Rule) -> None:
    house = House(REPOSITORY)
    assert len(house.files) > 20
    assert list(rule(house)) == []


@pytest.mark.parametrize(("rule", "files", "fault"), PLANTED)
def test_a_planted_fault_is_found(tmp_path: Path, rule: Rule, files: dict[str, str], fault: str) -> None:
    found = list(rule(_house_with(tmp_path, files)))
    assert len(found) == 1
    assert found[0].startswith(fault)


def test_every_rule_has_a_planted_fault() -> None:
    assert {rule for rule, _files, _fault in PLANTED} == set(RULES)


def test_a_house_in_order_breaks_no_rule(tmp_path: Path) -> None:
    store = 'from datetime import datetime\nfrom melee import clock, log\nclock.now()\nlog.hit(1)\nx: datetime\n"""f"""'
    types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from melee.store import lock"
    files = {"clock.py": "import time\ntime.time()", "log.py": "_log.info(f'hit {1}')", "store/lock.py": store}
    files |= {"store/record.py": types, "store/lock.py": f"{store}\nfrom melee.store import record"}
    house = _house_with(tmp_path, files | {"__init__.py": "from melee.store.lock import x"})
    assert [fault for rule in RULES for fault in rule(house)] == []


def _house_with(folder: Path, files: dict[str, str]) -> House:
    for name, text in ({"__init__.py": "", "store/__init__.py": '"""Store."""'} | files).items():
        file = folder / "melee" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return House(folder)


def _for_checkers_only(tree: ast.AST) -> set[ast.AST]:
    """What stands below `if TYPE_CHECKING:`."""
    guarded = [
        node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    return {inner for node in guarded for statement in node.body for inner in ast.walk(statement)}


def _dotted(file: Path) -> str:
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _is_ours(module: str) -> bool:
    return module.split(".")[0] == "melee"


def _room(module: str) -> str:
    return module.removeprefix("melee").removeprefix(".").partition(".")[0]


def _imported_names(tree: ast.AST) -> dict[str, str]:
    """What each imported name stands for: `from datetime import datetime as d` makes `d` a `datetime.datetime`."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _composes_a_line(call: ast.Call) -> bool:
    """`log.x(f"…")` and `self.log.x(f"…")`, whatever x is."""
    is_logger = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value).rpartition(".")[2] in LOGGERS
    return is_logger and any(isinstance(argument, ast.JoinedStr) for argument in call.args)
