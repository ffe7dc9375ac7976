"""The scripts: the small files of the README's commands, the linter of prose, what is published."""

import gzip
import re
import sys
import tomllib
from pathlib import Path

import pytest
from patience import python
from real_data import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "scripts"))
import lint_prose
import make_container
import make_release

FILES = ("sales.csv.gz", "catalogue.csv", "pairs.csv")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    script = REPOSITORY / "scripts" / "make_examples.py"
    python(script, "--output", folder)
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


CODE = '''
"""Whom it protects."""

def opened(path):
    """Return what is in place of a file."""
    query = "case whom when 1 then 2"
    raise DataError(f"{path} is the the file")

def _checked(path):
    """Return whom it is about."""
'''


def test_docstrings_of_public_names_and_messages_are_read() -> None:
    found = {(each.line, each.rule) for each in lint_prose.findings("module.py", CODE)}
    assert found == {(2, "banned: Whom"), (5, "banned: in place of"), (7, "doubled: the the")}


# -------------------- what is published


@pytest.mark.parametrize("home", ["", "https://example.org/us/fim-private"])
def test_the_address_is_filled_in_wherever_it_belongs(home: str, tmp_path: Path) -> None:
    make_release.copy_to_build(tmp_path, home)
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)\s]+)\)", readme)
    assert (len(targets) > 10) == ("pip install fim-private" in readme) == bool(home)
    assert all(target.startswith(f"{home}/") for target in targets)
    for target in targets:
        assert (REPOSITORY / target.partition(f"/v{make_release.version_here()}/")[2]).exists()
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project.get("urls", {}).get("Homepage", "") == home
    citation = (tmp_path / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert f"version: {make_release.version_here()}" in citation
    assert (f"url: {home}" in citation) == bool(home)


def test_a_release_runs_all_of_the_readme_that_needs_no_clone() -> None:
    script = make_release.commands_of((REPOSITORY / "README.md").read_text(encoding="utf-8"))
    assert script.count("fim-private ") >= 6
    assert "python - <<'END'\nimport fim_private as fim\n" in script
    assert not re.search("^(make|[$│]) ", script, flags=re.MULTILINE)


def test_workflows_have_pinned_actions_and_no_rights_of_their_own() -> None:
    for path in (REPOSITORY / ".github" / "workflows").glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        assert "\npermissions: {}\n" in text
        assert re.findall("uses: (.*)", text) == re.findall(r"uses: (\S+@[0-9a-f]{40} # v.*)", text)


@pytest.mark.full
def test_the_readme_says_how_often_one_basket_names_its_customer() -> None:
    pytest.importorskip("matplotlib")
    import make_readme_figure

    shares = make_readme_figure.fit_one_customer()
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert (
        f"{100 * shares[8]:.0f} % of the baskets with eight items match only one customer" in readme
    )
    assert list(shares.values()) == sorted(shares.values())


def test_the_container_runs_without_rights_and_without_a_compiler() -> None:
    steps = make_container.instructions()
    stages = [number for number, (name, _) in enumerate(steps) if name == "FROM"]
    last = dict(steps[stages[-1] :])
    assert len(stages) == 2
    assert last["USER"].isdecimal()
    assert last["USER"] != "0"
    assert not any("apt-get" in words or "gcc" in words for _, words in steps[stages[-1] :])
    assert last["COPY"].startswith("--from=build ")
    allowed = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for name, words in steps[: stages[-1]]:
        if name == "COPY":
            assert all(f"!{source}" in allowed for source in words.split()[:-1])
