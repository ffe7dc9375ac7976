"""The architecture, executed: who may import which, who may print, who is random."""

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache, wraps
from graphlib import TopologicalSorter
from pathlib import Path

from patience import python

import fim_private
from fim_private.mechanisms.registry import REGISTRY

PACKAGE = Path(__file__).resolve().parents[2] / "fim_private"

# A room is a folder, or a module on top of the package. Which other rooms each may import; a new
# one is one line.
MAY_IMPORT = {
    "errors": "",
    "addresses": "errors",
    "options": "dp periods",
    "display": "",
    "whole_files": "errors",
    "periods": "errors",
    "dp": "errors display periods",
    "spectrum": "errors dp",
    "reading": "errors addresses options display periods",  # nothing about privacy
    "counting": "errors options dp spectrum reading",
    "mechanisms": "errors options dp spectrum",  # no data: they see levels alone
    "selecting": "errors dp spectrum mechanisms",
    "opendp": "errors dp mechanisms selecting",
    "auditing": "errors options dp spectrum mechanisms",
    "ledger": "errors addresses display periods dp whole_files",  # neither data nor releases
    # what one machine does, on parts of the units: no mechanisms
    "spark": "errors dp spectrum reading counting",
    # as spark: sums of units that stay in their database
    "warehouse": "errors periods spectrum reading counting",
    "levelwise": "errors dp counting",  # no mechanisms: all of its noise is normal
    "request": "errors options display periods dp reading counting mechanisms levelwise",
    # what is released, and nothing else
    "release": "errors options display periods dp reading request planning whole_files",
    # carries out plans: the one place that opens purchases and charges a ledger
    "run": "errors options dp reading counting mechanisms levelwise spark warehouse request "
    "release",
    "mining": "errors options periods counting dp reading spark request release run",
    "planning": "errors options display dp reading counting mechanisms levelwise request",
    "output": "errors options display dp reading mechanisms request release planning "
    "mining auditing ledger learning",
    "learning": (
        "errors options display dp spectrum reading counting mechanisms selecting request release "
        "run"
    ),
    "cli": "errors addresses options display reading counting mining planning auditing "
    "output release "
    "spark learning whole_files",
}
# The public names, imported on first use; and the door of `python -m fim_private`.
FRONT = {"": set(MAY_IMPORT), "__main__": {"cli"}}


def modules() -> dict[str, Path]:
    """Every module by its name inside the package; the package itself is ""."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


MODULES = modules()
# Compiled: they have a place, but no Python to look at.
_PLACES = [path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.pyx")]
COMPILED = {".".join(place.parts) for place in _PLACES}


def every_module(test: Callable[[str], None]) -> Callable[[], None]:
    """Make a test of all modules, which says in which it fails."""

    @wraps(test)
    def of_all() -> None:
        for module in MODULES:
            try:
                test(module)
            except AssertionError as error:
                raise AssertionError(module or "fim_private") from error

    del of_all.__wrapped__  # pytest would take its parameter for a fixture
    return of_all


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


@cache
def nodes(module: str) -> list[ast.AST]:
    """All parts of a module, which most tests here go through."""
    return [*ast.walk(tree(module))]


@cache
def imported(module: str) -> frozenset[str]:
    """Every module of the package that a module imports, wherever in it."""
    return frozenset(_imported(module))


def _imported(module: str) -> Iterator[str]:
    for node in nodes(module):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            root, _, inside = name.partition(".")
            if root == "fim_private":
                # from fim_private.counting import universe: a module; from fim_private.errors
                # import DataError: a name.
                yield inside if inside in {*MODULES, *COMPILED} else inside.rpartition(".")[0]


def room(module: str) -> str:
    return module.partition(".")[0]


def test_every_room_is_known() -> None:
    assert {*map(room, MODULES)} - set(FRONT) == set(MAY_IMPORT)


@every_module
def test_rooms_import_what_stands_below_them(module: str) -> None:
    allowed = FRONT.get(module) or {room(module), *MAY_IMPORT[room(module)].split()}
    # `from fim_private import __version__` is no import of a room.
    assert {*map(room, imported(module))} - {""} <= allowed


def test_no_permission_is_idle() -> None:
    used = {(room(module), room(name)) for module in MODULES for name in imported(module)}
    idle = {(one, two) for one, below in MAY_IMPORT.items() for two in below.split()} - used
    assert idle == set()


def test_no_module_imports_itself_by_a_detour() -> None:
    # raises CycleError
    TopologicalSorter({module: imported(module) - {"", module} for module in MODULES}).prepare()


def test_the_stub_has_every_public_name() -> None:
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    names = [alias.asname for node in imports for alias in node.names]
    assert sorted([*map(str, names), "__version__"]) == sorted(fim_private.__all__)
    assert all(hasattr(fim_private, name) for name in fim_private.__all__)


def printed(*arguments: str) -> list[str]:
    """The words that a Python of its own prints."""
    return python(*arguments).stdout.split()


def test_the_package_itself_imports_nothing_at_first() -> None:
    lines = "import sys, fim_private, fim_private.cli.commands; print(*sys.modules)"
    loaded = printed("-c", lines)
    heavy = {"numpy", "pyarrow", "pandas", "polars", "scipy", "mlxtend"}
    assert heavy.isdisjoint(loaded), "`fim-private --help` must not wait for them"
    own = {name for name in loaded if name.startswith("fim_private")}
    light = {"display", "dp", "errors", "options", "periods", "whole_files"}
    own = {name.removeprefix("fim_private").lstrip(".") for name in own}
    assert {*map(room, own)} - {"", "cli"} == light


def test_the_entry_to_the_command_line_imports_next_to_nothing() -> None:
    # Until then Ctrl-C shows a traceback.
    lines = "import sys; old={*sys.modules}; import fim_private.cli; print(*({*sys.modules}-old))"
    lines = f"import sys; sys.path[:0] = {[str(PACKAGE.parent)]!r}; {lines}"
    loaded = printed("-I", "-S", "-c", lines)
    assert {*loaded} <= {"__future__", "fim_private", "fim_private.cli"}


def test_pandas_is_imported_only_where_it_is_used() -> None:
    # 0.3 s of every command: the readers must not need it.
    lines = f"""
import sys
import fim_private as fim
fim.mine({str(PACKAGE.parent / "datasets" / "corner_shop.parquet")!r}).to_json()
print(*sys.modules)
"""
    loaded = printed("-c", lines)
    assert {"pandas", "polars", "scipy", "mlxtend", "typer", "jinja2"}.isdisjoint(loaded)


def calls(module: str) -> Iterator[str]:
    for node in nodes(module):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


@every_module
def test_only_the_command_line_prints_and_exits(module: str) -> None:
    if module == "cli" or module.startswith("cli."):
        return
    speaking = {"print", "typer.echo", "rich.print", "sys.exit", "exit", "quit", "input"}
    speaking |= {"warnings.warn"} if module != "errors" else set()
    assert speaking.isdisjoint(calls(module))
    if module != "__main__":
        assert "typer" not in all_imports(module)


@cache
def all_imports(module: str) -> set[str]:
    """Everything a module imports, with its parents: ``numpy.random`` counts as ``numpy`` too."""
    names: set[str] = set()
    for node in nodes(module):
        if isinstance(node, ast.Import | ast.ImportFrom):
            parent = [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            names.update(parent, (".".join([*parent, alias.name]) for alias in node.names))
    return {".".join(one.split(".")[:end]) for one in names for end in range(1, one.count(".") + 2)}


@every_module
def test_randomness_comes_from_one_place(module: str) -> None:
    assert {"random", "secrets", "numpy.random"}.isdisjoint(all_imports(module))
    attributes = {
        ast.unparse(node)
        for node in nodes(module)
        if isinstance(node, ast.Attribute) and node.attr in ("random", "urandom")
    }
    assert {"np.random", "numpy.random"}.isdisjoint(attributes)
    if module != "dp.noise":
        assert "os.urandom" not in attributes


def test_the_glossary_of_each_room_names_its_modules() -> None:
    # these are in the registry
    mechanisms = {spec.home.split(".")[2] for spec in REGISTRY if not spec.composed}
    for package in [name for name, path in MODULES.items() if name and path.name == "__init__.py"]:
        named = set(re.findall(r"\w+", str(ast.get_docstring(tree(package)))))
        names = (name for name in {*MODULES, *COMPILED} if name.startswith(f"{package}."))
        inside = {name.rpartition(".")[2] for name in names}
        assert inside - mechanisms <= named, package


def test_every_dependency_is_used_and_what_is_used_is_one() -> None:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    declared = {re.split(r"[^\w-]", dependency)[0] for dependency in project["dependencies"]}
    used = {name.partition(".")[0] for module in MODULES for name in all_imports(module)}
    optional = {"ibis", "matplotlib", "opendp", "polars", "psycopg", "pyspark", "python_calamine"}
    optional |= {"sqlglot", "xlsxwriter"}
    assert used - set(sys.stdlib_module_names) - {"fim_private"} == declared | optional


def test_the_checks_see_what_they_look_for() -> None:
    assert "fim_private.dp.noise" in all_imports("run.run")
    assert "dp.noise" in imported("run.run")
    assert "counting.portable" in imported("counting.source")
    assert "typer.echo" in set(calls("cli.commands"))
    assert "mining.mine" in imported("cli.commands")  # inside a function
