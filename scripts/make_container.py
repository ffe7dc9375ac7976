"""Build the container by podman or docker; where neither runs, run the steps of the Containerfile.

python scripts/make_container.py [--steps]

The steps are run in a temporary folder that stands for the root of the file system. What needs an
image (packages of the system, a user) is left out and named. Then the installed command runs with
no more than the last stage has: its environment, and no compiler on the path.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
CONTAINERFILE = ROOT / "Containerfile"
OF_AN_IMAGE = ("apt-get", "useradd")
BUILT = shutil.ignore_patterns("__pycache__", "*.so", "*.c")
INSTALLED = "/opt/fim-private"


def instructions() -> list[tuple[str, str]]:
    """Return each instruction of the Containerfile with what stands behind it."""
    text = CONTAINERFILE.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.partition(" ") for line in text.splitlines() if re.match("[A-Z]", line)]
    return [(name, words.strip()) for name, _, words in lines]


def engine() -> str | None:
    """Return podman or docker, whichever can build here."""
    for name in ("podman", "docker"):
        if shutil.which(name) is None:
            continue
        if subprocess.run([name, "info"], capture_output=True, check=False).returncode == 0:
            return name
    return None


def run_steps(root: Path) -> None:
    """Do what the Containerfile says, with a folder for the root of the file system."""
    entry: list[str] = []
    for name, words in instructions():
        if name == "COPY" and not words.startswith("--from"):
            *sources, target = words.split()
            for source in sources:
                _copy(ROOT / source, Path(f"{root}{target}"), is_folder=target.endswith("/"))
        elif name == "RUN" and words.startswith(OF_AN_IMAGE):
            print(f"Left out, for it needs an image: RUN {words}")
        elif name == "RUN":
            here = re.sub(r"(?<=\s)/(?=src|opt)|^/(?=opt)", f"{root}/", words)
            subprocess.run(here, shell=True, check=True)
        elif name == "ENTRYPOINT":
            entry = json.loads(words)
    command = [f"{root}{INSTALLED}/bin/{entry[0]}"]
    last_stage = {"PATH": f"{root}{INSTALLED}/bin", "HOME": str(root), "LANG": "C.UTF-8"}
    shop = str(ROOT / "datasets" / "corner_shop.parquet")
    for arguments in (["--version"], ["mine", shop, "--user", "customer", "--top", "3"]):
        subprocess.run([*command, *arguments], env=last_stage, cwd=root, check=True)


def _copy(source: Path, target: Path, *, is_folder: bool) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=BUILT)
        return
    if is_folder:
        target.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def main() -> None:
    """Build the image, or run the steps."""
    builder = None if "--steps" in sys.argv[1:] else engine()
    if builder is not None:
        build = [builder, "build", "--tag", "fim-private", "--file", str(CONTAINERFILE), str(ROOT)]
        os.execvp(builder, build)
    print("Neither podman nor docker runs here: these are the steps of the Containerfile.")
    sys.stdout.flush()
    with TemporaryDirectory() as folder:
        run_steps(Path(folder))


if __name__ == "__main__":
    main()
