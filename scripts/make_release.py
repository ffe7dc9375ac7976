"""Make the source distribution and the wheel, try both in empty environments, and say what is left
to do.

python scripts/make_release.py [--home-url https://github.com/OWNER/fim-private] [--output dist]

Both are built from a copy. There the public address of the project is filled into pyproject.toml,
CITATION.cff, and the links of the README. Without an address those links become plain words.

Each archive is looked into for what has to be in it and what must not. Then the wheel is installed
on every Python that is here, and with the lowest dependencies; the source distribution with a
compiler, and with one that fails. Each has to mine the corner shop from outside this repository,
counting with the compiled kernel, or with numpy where there was no compiler. In one environment all
of the README runs from top to bottom. It is rendered as PyPI does, into build/README.html. Needs
build, readme-renderer, twine, uv, and a network.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHOP = "datasets/corner_shop.parquet"
FOUND = "{semi-skimmed milk, tea bags}"
OLDEST, *LATER = [(3, 11), (3, 12), (3, 13), (3, 14)]
# What the archives are made of.
SHIPPED = [
    *("fim_private", "datasets", "pyproject.toml", "setup.py", "MANIFEST.in", "README.md"),
    *("CHANGELOG.md", "CITATION.cff", "SECURITY.md", "LICENSE"),
]
BUILT = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "*.c")
ADDRESS = re.compile(r"https://[\w.-]+/[\w./-]*\w")
LINK = re.compile(r"(?P<picture>!?)\[(?P<words>[^\]]*)\]\((?P<target>[^)\s]+)\)")
BLOCK = re.compile(
    r"^```(?P<language>sh|console|python)\n(?P<lines>.*?)^```$", re.DOTALL | re.MULTILINE
)
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
    *(name for name in SHIPPED if "." in name),
    *("LICENSE", SHOP),
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


@dataclass(frozen=True)
class Installation:
    """One way to install an archive into an empty environment.

    Attributes:
        archive: The source distribution or the wheel.
        how: The way in words, after "installed".
        counter: The counter that it should have then, "compiled" or "numpy".
        variables: What is added to the environment.
        python: The Python of the new environment.
        lowest: Whether the dependencies are the lowest that are allowed.
        readme: Whether all that the README shows is run there, too.
    """

    archive: Path
    how: str
    counter: str
    variables: Mapping[str, str] = field(default_factory=lambda: NO_COMPILER)
    python: str = sys.executable
    lowest: bool = False
    readme: bool = False


def main() -> None:
    """Run every check; the first that fails ends the script with one line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--home-url", default="", help="the public address of the project")
    parser.add_argument(
        "--output", type=Path, default=ROOT / "dist", help="folder to write to (default: dist)"
    )
    arguments = parser.parse_args()
    home: str = arguments.home_url
    if home and not ADDRESS.fullmatch(home):
        raise SystemExit(
            f"HOME_URL is {home!r}; give one like https://github.com/OWNER/fim-private"
        )
    source, wheel = build(arguments.output, home)
    compiler = has_compiler()
    check_names(source, names_in(source), IN_SOURCE, NOT_IN_SOURCE)
    check_names(wheel, names_in(wheel), [*IN_WHEEL, *(COMPILED if compiler else [])], NOT_IN_WHEEL)
    check_page(source, wheel)
    for installation in installations(source, wheel, compiler):
        check_install(installation)
    print(f"{source.name} and {wheel.name} are good.")
    print(*what_is_left(home), sep="\n")


def installations(source: Path, wheel: Path, compiler: bool) -> list[Installation]:
    """Return every way to install that can be tried here; print which cannot."""
    if "-abi3-" not in wheel.name:
        raise SystemExit(
            f"{wheel.name} is for one version of Python; it should be for all from 3.11 on"
        )
    counter = "compiled" if compiler else "numpy"
    ways = [
        Installation(wheel, "without a compiler", counter, readme=True),
        Installation(source, "without a compiler", "numpy"),
    ]
    if compiler:
        ways.append(Installation(source, "with a compiler", counter, variables={}))
    else:
        print("There is no C compiler here: the compiled counter is left out of all this.")
    for version in [OLDEST, *LATER]:
        python, name = python_of(version), f"Python {version[0]}.{version[1]}"
        if python is None:
            print(f"{name} is not here: the wheel was not tried on it.")
            continue
        if version != sys.version_info[:2]:
            ways.append(Installation(wheel, f"on {name}", counter, python=python))
        if version == OLDEST:  # no later one has wheels of all the lowest dependencies
            how = f"with the lowest dependencies on {name}"
            ways.append(Installation(wheel, how, counter, python=python, lowest=True))
    return ways


def what_is_left(home: str) -> list[str]:
    """Return the lines that tell a maintainer what to do now."""
    version = version_here()
    lines = []
    if not home:
        lines.append("Without HOME_URL=https://… the archives name no address, and link nowhere.")
    if f"## {version} (unreleased)" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        lines.append(f"CHANGELOG.md calls {version} unreleased: first write its date there.")
    return [
        *lines,
        "Two commands are left to you. The second one publishes.",
        f"    git tag --sign v{version} --message 'fim-private {version}'",
        f"    git push origin v{version}",
    ]


def version_here() -> str:
    """Return the version of the package, which stands in one place."""
    text = (ROOT / "fim_private" / "__init__.py").read_text(encoding="utf-8")
    [version] = re.findall(r'^__version__ = "(.+)"$', text, flags=re.MULTILINE)
    return str(version)


def copy_to_build(folder: Path, home: str) -> None:
    """Copy what is published into a folder, with the version and the address filled in."""
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=BUILT)
        else:
            shutil.copy(ROOT / name, folder)
    version = version_here()
    change(folder / "README.md", lambda text: with_absolute_links(text, home, f"v{version}"))
    addition = f"version: {version}\n"
    if home:
        addition += f"url: {home}\nrepository-code: {home}\n"
        urls = {
            "Homepage": home,
            "Documentation": f"{home}/blob/v{version}/docs/index.md",
            "Changelog": f"{home}/blob/v{version}/CHANGELOG.md",
            "Issues": f"{home}/issues",
        }
        table = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
        change(folder / "pyproject.toml", lambda text: f"{text}\n[project.urls]\n{table}")
    change(folder / "CITATION.cff", lambda text: text + addition)


def change(path: Path, filled: Callable[[str], str]) -> None:
    """Write a text file anew."""
    path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")


def with_absolute_links(text: str, home: str, tag: str) -> str:
    """Return Markdown whose links to files lead to a tag at the public address.

    Without an address the words of a link stay, and pictures go.
    """

    def absolute(link: re.Match[str]) -> str:
        words, target = link["words"], link["target"]
        if re.match(r"#|[a-z]+:", target):
            return link[0]
        if not home:
            return "" if link["picture"] else words
        kind = "raw" if link["picture"] else "blob"
        return f"{link['picture']}[{words}]({home}/{kind}/{tag}/{target})"

    return LINK.sub(absolute, text)


def has_compiler() -> bool:
    """Whether the compiler that Python's extensions are built with can be run."""
    command = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(command) is None:
        return False
    return subprocess.run([command, "--version"], capture_output=True, check=False).returncode == 0


def build(output: Path, home: str) -> tuple[Path, Path]:
    """Return the source distribution, and the wheel that was made of it."""
    for old in [*output.glob("fim_private-*.tar.gz"), *output.glob("fim_private-*.whl")]:
        old.unlink()
    with tempfile.TemporaryDirectory() as name:
        copy_to_build(Path(name), home)
        run([sys.executable, "-m", "build", "--outdir", str(output.resolve()), name], Path(name))
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


def check_page(source: Path, wheel: Path) -> None:
    """Check that PyPI takes both, and render the README as it does."""
    run([sys.executable, "-m", "twine", "check", "--strict", str(source), str(wheel)], ROOT)
    with zipfile.ZipFile(wheel) as opened:
        [metadata] = [name for name in opened.namelist() if name.endswith(".dist-info/METADATA")]
        _, _, readme = opened.read(metadata).decode().partition("\n\n")
    page = ROOT / "build" / "README.html"
    page.parent.mkdir(exist_ok=True)
    page.with_suffix(".md").write_text(readme, encoding="utf-8")
    render = [sys.executable, "-m", "readme_renderer", str(page.with_suffix(".md"))]
    run([*render, "--output", str(page)], ROOT)
    if relative := re.search(
        r'(?:href|src)="(?!https?:|#)[^"]*"', page.read_text(encoding="utf-8")
    ):
        raise SystemExit(f"the README has a link that leads nowhere on PyPI: {relative[0]}")
    print(f"PyPI takes both; {page.relative_to(ROOT)} is the README as it will be there.")


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


def check_install(installation: Installation) -> None:
    """Install into an empty environment, and mine from an empty folder."""
    archive, how = installation.archive, f"installed {installation.how}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([installation.python, "-m", "venv", str(folder / "venv")], folder)
        programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        python, command = str(programs / "python"), str(programs / "fim-private")
        pip = [python, "-m", "pip", "--disable-pip-version-check"]
        # Byte code of all that is installed would take longer than the rest: what is imported gets
        # some when it is.
        install = [*pip, "install", "--quiet", "--no-compile"]
        if installation.lowest:
            install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python]
            install += ["--resolution", "lowest-direct"]
        # From a path of its own: pip would take a wheel that it has built and kept of the same
        # path, perhaps compiled.
        run([*install, str(shutil.copy(archive, folder))], folder, installation.variables)
        run([*pip, "check"], folder)
        version = run([command, "--version"], folder)
        if f"({installation.counter} counter)" not in version:
            raise SystemExit(
                f"{archive.name}, {how}, should have the {installation.counter} counter: "
                f"{version.strip()}"
            )
        shutil.copy(ROOT / SHOP, folder)
        page = folder / "page.html"
        mine = ["mine", Path(SHOP).name, "--size", "2", "--report", page.name]
        mined = run([command, *mine], folder)
        if FOUND not in mined:
            raise SystemExit(f"{archive.name}, {how}, does not find {FOUND}:\n{mined}")
        if "semi-skimmed milk" not in page.read_text(encoding="utf-8"):
            raise SystemExit(f"{archive.name}, {how}, makes a page without {FOUND}")
        print(f"{archive.name}, {how}: the {installation.counter} counter finds {FOUND}.")
        if installation.readme:
            check_readme(folder, programs)


def check_readme(folder: Path, programs: Path) -> None:
    """Run what the README shows, in its order, in a folder with the data sets and nothing else."""
    shutil.copytree(ROOT / "datasets", folder / "datasets")
    script = commands_of((ROOT / "README.md").read_text(encoding="utf-8"))
    variables = {
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
        "XDG_STATE_HOME": str(folder),  # where a ledger notes what it last saw
    }
    run(["bash", "-euxo", "pipefail", "-c", script], folder, variables)
    print("README.md runs there from top to bottom.")


def commands_of(text: str) -> str:
    """Return the commands and the Python of Markdown as one script. The targets of make need a
    clone, and are left to .ci/run.
    """
    parts = []
    for block in BLOCK.finditer(text):
        lines = block["lines"].splitlines()
        match block["language"]:
            case "python":
                parts += ["python - <<'END'", *lines, "END"]
            case "console":
                parts += [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
            case _:
                parts += [line for line in lines if not line.startswith("make ")]
    return "\n".join(parts)


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
