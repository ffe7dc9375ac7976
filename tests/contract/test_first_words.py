"""What a newcomer reads first must not promise a customer what only a basket has."""

import re
import tomllib

import typer
from real_data import REPOSITORY

import fim_private as fim
from fim_private.cli.commands import app


def first_words() -> dict[str, str]:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    return {
        "README": readme.split("\n## ")[0],
        "package": str(fim.__doc__),
        "command": str(typer.main.get_command(app).help),
        "project": project["description"],
        "guide": (REPOSITORY / "docs" / "guide.md").read_text(encoding="utf-8").split("\n## ")[0],
    }


def test_who_speaks_of_customers_speaks_of_baskets_first() -> None:
    for name, text in first_words().items():
        assert "basket" in text, name
        assert text.index("basket") < text.index("customer"), name
        if name != "project":
            assert re.search(r"`?(--)?user`?|column of\s+customers", text), name


def test_the_help_of_mine_defines_both_relations() -> None:
    text = " ".join(str(fim.mine.__doc__).split())
    assert re.search(r'"replace-one" hides what it holds; [^.;]* is then public', text)
    assert '"add-remove" hides whether any one basket' in text
    assert re.search(r"is in the data, and how many there are", text)
