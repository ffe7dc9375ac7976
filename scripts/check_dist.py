"""Make the source distribution and the wheel, install both into empty environments, and run the
command from there.

python scripts/check_dist.py [--output dist]

Looks into both for what has to be in them and what must not, then installs the wheel, the source
distribution, and the source distribution again with a compiler that fails. Each has to mine the
corner shop from outside this repository, counting with the compiled kernel, or with numpy where
there was no compiler. The same wheel is tried on every later Python that is here. Needs the package
`build`, and a network.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHOP = "datasets/corner_shop.parquet"
FOUND = "{semi-skimmed milk, tea bags}"
LATER = [(3, 12), (3, 13), (3, 14)]  # beside the oldest that is supported
NO_COMPILER = {"CC": "false", "CXX": "false"}

KERNELS = [
    "fim_private/counting/kernel",
    "fim_private/counting/sums",
    "fim_private/reading/grouping",
]
STUBS = ["fim_private/__init__.pyi", *(f"{kernel}.pyi" for kernel in KERNELS)]
# What a page of a release is made of.
PAGE = [
    path.relative_to(ROOT).as_posix()
    for kind in ("css", "jinja", "js", "toml")
    for path in sorted((ROOT / "fim_private" / "release").glob(f"*.{kind}"))
]
IN_BOTH = ["fim_private/py.typed", *STUBS, *PAGE, "fim_private/cli/__init__.py"]
IN_SOURCE = [
    *IN_BOTH,
    *(f"{kernel}.pyx" for kernel in KERNELS),
    "fim_private/counting/sums.pxd",
    *("pyproject.toml", "setup.py", "README.md", "CHANGELOG.md", "LICENSE", SHOP),
]
IN_WHEEL = [
    *IN_BOTH,
    "fim_private-*.dist-info/licenses/LICENSE",
    "fim_private-*.dist-info/entry_points.txt",
]
# kernel.cpython-311-x86_64-linux-gnu.so, kernel.cp311-win_amd64.pyd
COMPILED = [f"{kernel}.*.*" for kernel in KERNELS]
NOT_IN_SOURCE = ["tests/*", "benchmarks/*", "*.so", "*.pyd", "fim_private/*.c"]
NOT_IN_WHEEL = [
    "*test*",
    "benchmarks/*",
    "scripts/*",
    "datasets/*",
    "docs/*",
    "*.pyx",
    "*.pxd",
    "fim_private/*.c",
]


def main() -> None:
    """Run every check; the first that fails ends the script with one line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--output", type=Path, default=ROOT / "dist", help=("folder to write to (default: dist)")
    )
    output: Path = parser.parse_args().output
    compiler = has_compiler()
    source, wheel = build(output)
    check_names(source, names_in(source), IN_SOURCE, NOT_IN_SOURCE)
    check_names(wheel, names_in(wheel), [*IN_WHEEL, *(COMPILED if compiler else [])], NOT_IN_WHEEL)
    counter = "compiled" if compiler else "numpy"
    check_install(wheel, "without a compiler", NO_COMPILER, counter)
    if "-abi3-" not in wheel.name:
        raise SystemExit(
            f"{wheel.name} is for one version of Python; it should be for all from 3.11 on"
        )
    for version in LATER:
        python, name = python_of(version), f"Python {version[0]}.{version[1]}"
        if python is None:
            print(f"{name} is not here: the wheel was not tried on it.")
        elif version != sys.version_info[:2]:
            check_install(wheel, f"on {name}", NO_COMPILER, counter, python)
    if compiler:
        check_install(source, "with a compiler", {}, counter)
    else:
        print("There is no C compiler here: the compiled counter is left out of all this.")
    check_install(source, "without a compiler", NO_COMPILER, "numpy")
    print(f"{source.name} and {wheel.name} are good.")


def has_compiler() -> bool:
    """Whether the compiler that Python's extensions are built with can be run."""
    command = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(command) is None:
        return False
    return subprocess.run([command, "--version"], capture_output=True, check=False).returncode == 0


def build(output: Path) -> tuple[Path, Path]:
    """Return the source distribution, and the wheel that was made of it."""
    for old in [*output.glob("fim_private-*.tar.gz"), *output.glob("fim_private-*.whl")]:
        old.unlink()
    run([sys.executable, "-m", "build", "--outdir", str(output), str(ROOT)], ROOT)
    (source,), (wheel,) = output.glob("fim_private-*.tar.gz"), output.glob("fim_private-*.whl")
    return source, wheel


def names_in(archive: Path) -> set[str]:
    """Return the names of all files, those of a source distribution without its one folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            return set(opened.namelist())
    with tarfile.open(archive) as opened:
        return {member.name.partition("/")[2] for member in opened.getmembers() if member.isfile()}


def check_names(
    archive: Path, names: Iterable[str], wanted: Iterable[str], unwanted: Iterable[str]
) -> None:
    """Hold the names against patterns."""
    for pattern in wanted:
        if not any(fnmatch(name, pattern) for name in names):
            raise SystemExit(f"{archive.name} lacks {pattern}")
    for pattern in unwanted:
        if found := sorted(name for name in names if fnmatch(name, pattern)):
            raise SystemExit(f"{archive.name} holds {found[0]}, which does not belong there")
    print(f"{archive.name} holds what it needs, and no more.")


def python_of(version: tuple[int, int]) -> str | None:
    """Return a Python of a version that runs: on the path, or of pyenv; None where there is
    none.
    """
    own = f"{version[0]}.{version[1]}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [
        shutil.which(f"python{own}"),
        *map(str, sorted(pyenv.glob(f"versions/{own}.*/bin/python"))),
    ]
    for python in filter(None, candidates):
        # pyenv puts a name of each version on the path, also of one that it does not run.
        asked = [python, "-c", "import sys; print(*sys.version_info[:2], sep='.')"]
        done = subprocess.run(asked, capture_output=True, encoding="utf-8", check=False)
        if done.stdout.strip() == own:
            return python
    return None


def check_install(
    archive: Path,
    how: str,
    variables: Mapping[str, str],
    counter: str,
    python: str = sys.executable,
) -> None:
    """Install into an empty environment, and mine from an empty folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([python, "-m", "venv", str(folder / "venv")], folder)
        programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        pip = [str(programs / "python"), "-m", "pip", "--disable-pip-version-check"]
        # From a path of its own: pip would take a wheel that it has built and kept of the same
        # path, perhaps compiled. Byte code of all that is installed would take longer than the
        # rest: what is imported gets some when it is.
        run(
            [*pip, "install", "--quiet", "--no-compile", str(shutil.copy(archive, folder))],
            folder,
            variables,
        )
        run([*pip, "check"], folder)
        command = str(programs / "fim-private")
        version = run([command, "--version"], folder)
        if f"({counter} counter)" not in version:
            raise SystemExit(
                f"{archive.name}, installed {how}, should have the {counter} "
                f"counter: {version.strip()}"
            )
        shutil.copy(ROOT / SHOP, folder)
        page = folder / "page.html"
        asked = ["mine", Path(SHOP).name, "--size", "2", "--report", page.name]
        mined = run([command, *asked], folder)
        if FOUND not in mined:
            raise SystemExit(f"{archive.name}, installed {how}, does not find {FOUND}:\n{mined}")
        if "semi-skimmed milk" not in page.read_text(encoding="utf-8"):
            raise SystemExit(f"{archive.name}, installed {how}, makes a page without {FOUND}")
        print(
            f"{archive.name}, installed {how}, counts with the {counter} counter and finds {FOUND}."
        )


def run(command: list[str], folder: Path, variables: Mapping[str, str] | None = None) -> str:
    """Return what a command prints; show it, and end, if it fails. Nothing of this repository is on
    its path.
    """
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    done = subprocess.run(
        command,
        cwd=folder,
        env={**inherited, "PYTHONUTF8": "1", **(variables or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise SystemExit(
            f"{done.stdout}\nfailed with exit code {done.returncode}: {' '.join(command)}"
        )
    return done.stdout


if __name__ == "__main__":
    main()
