"""Releases to look at, and the tags and texts of what they are shown as."""

import dataclasses
from html.parser import HTMLParser
from typing import Any

import fim_private as fim
from fim_private.dp.cost import PrivacyCost

SHOP = [["bread", "butter", "jam"]] * 300 + [["bread", "butter"]] * 400
SHOP += [["tea"]] * 500 + [["bread", "tea"]] * 100
# A thing that half of the baskets have, with what goes with it in all of them, and two by chance.
HALF = [["a", "b"]] * 600 + [["c", "d"]] * 130 + [["c"]] * 370 + [["d"]] * 370 + [["e"]] * 500


def mined(**asked: Any) -> fim.Release:
    """Return a release of SHOP."""
    release = fim.mine(SHOP, **{"size": 2, "top": 3, "epsilon": 5, "seed": 1, **asked})
    assert isinstance(release, fim.Release)
    return release


def release_of(*itemsets: fim.Itemset, **changes: Any) -> fim.Release:
    """Return a release of these itemsets, as if somebody had mined it."""
    plain = fim.Release(
        "large-margin", (2,), PrivacyCost(1, 1e-6), "replace-one", "basket", True, not itemsets,
        itemsets,
    )  # fmt: skip
    return dataclasses.replace(plain, **changes)


class Markup(HTMLParser):
    """The tags of HTML, each closed in its turn, and the text outside of styles and scripts."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(content)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "link", "input"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & {*self.open}:
            self.text += data + " "

    @property
    def words(self) -> str:
        """The text, as it is read."""
        return " ".join(self.text.split())
