"""The scripts: the small files of the README's commands, and the linter of prose."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from real_data import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "scripts"))
import lint_prose

FILES = ("sales.csv.gz", "catalogue.csv", "pairs.csv")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    script = REPOSITORY / "scripts" / "make_examples.py"
    subprocess.run(
        [sys.executable, str(script), "--output", str(folder)], check=True, capture_output=True
    )
    return folder


@pytest.mark.parametrize("name", FILES)
def test_they_are_what_the_script_makes(name: str, made: Path) -> None:
    shipped, again = ((folder / name).read_bytes() for folder in (REPOSITORY / "datasets", made))
    if name.endswith("gz"):  # which bytes hold it depends on the version of zlib
        shipped, again = gzip.decompress(shipped), gzip.decompress(again)
    assert shipped == again


# -------------------- the linter of prose: what it refuses, and what it lets pass


LONG = "some word " * 15 + "other."  # 31 words
BAD = [
    (LONG, 1, "31 words"),
    ("- one\n- " + LONG.replace(" other.", ";\n  other."), 2, "31 words"),
    ("| cell | " + LONG + " |", 1, "31 words"),
    ("Fine.\nAll pass, but for\none.", 2, "banned: but for"),
    ("## Whom it protects", 1, "banned: Whom"),
    ("Noise is added to the\nthe count.", 1, "doubled: the the"),
]
GOOD = [
    LONG.removesuffix(" other."),
    "some word " * 14 + "c(1) ≥ c(2) ≥ … `but for` [x + y](of_which.md) 12.",
    "What is measured? That bound is p. What is measured is time.",
    "```\nbut for whom\n```\n\n    in place of\n\n> held to\n\n<!-- whom -->",
    "- item\n\n    ```sh\n    so many\n    ```",
]


def test_bad_prose_is_found_where_it_begins() -> None:
    for text, line, rule in BAD:
        found = [(each.line, each.rule) for each in lint_prose.findings("page.md", text)]
        assert found == [(line, rule)], text


def test_good_prose_passes() -> None:
    for text in GOOD:
        assert not [*lint_prose.findings("page.md", text)], text
