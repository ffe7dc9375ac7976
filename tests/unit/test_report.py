"""The page of a release: it shows what is released and nothing else, loads nothing, and names stay text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import fim_private as fim
from fim_private.errors import OutputError, ParameterError
from fim_private.release.page import STYLE, page
from fim_private.release.rules import rules_of

SHOP = [["bread", "butter", "jam"]] * 300 + [["bread", "butter"]] * 400 + [["tea"]] * 500 + [["bread", "tea"]] * 100
EVIL = ["<script>alert(1)</script>", '" onload="x', "a & b", "line\nbreak", "</style>", "\u202eevil", " "]
VOID = {"meta", "link"}


class Reader(HTMLParser):
    """The tags and the text of a page, which must be balanced."""

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
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data + " "


def made(**asked: Any) -> fim.Release:
    release: fim.Release = fim.mine(SHOP, **{"size": 2, "top": 3, "epsilon": 5, "seed": 1, **asked})
    return release


def read(release: fim.Release) -> Reader:
    return Reader(page(release, rules_of(release) if release.with_parts else None))


@pytest.mark.parametrize(
    "asked",
    [
        {"rules": True},
        {"supports": True},
        {},
        {"mechanism": "large-margin", "top": 1},
        {"epsilon": 1e-4},
        {"min_support": 0.1, "top": None},
        {"neighbors": "replace-one", "rules": True},
        {"rho": 1, "epsilon": None, "supports": True},
        {"mechanism": "limited-domain", "max_basket": 2, "supports": True},
        {"mechanism": "exponential", "universe_size": 99},
    ],
    ids=str,
)
def test_every_release_has_its_page(asked: dict[str, Any]) -> None:
    release = made(**asked)
    found = read(release)
    for one in release:
        for item in one.items or ():
            assert str(item) in found.text
        if one.support is not None:
            assert f"{one.support:,}" in found.text
    assert release.title in found.text
    for heading in ("What was found", "What this page promises", "What was asked", "What was spent", "How to read it"):
        assert heading in found.text
    assert ("What goes with what" in found.text) == (release.with_parts and bool(release))
    assert "NOT PRIVATE" in found.text
    assert "nan" not in found.text.split()


def test_a_private_release_says_what_it_promises_in_words_and_exactly() -> None:
    release = fim.mine(SHOP, size=2, epsilon=1, neighbors="replace-one")
    found = read(release)
    assert "NOT PRIVATE" not in found.text
    assert f"Exactly: {release.guarantee}" in found.text
    assert (
        "had any one basket contained anything else, whatever is here would have been at most 2.72 times" in found.text
    )
    assert "up to an added probability of one in 1,000,000" in found.text
    assert "How many baskets there are is released exactly" in found.text
    weak = read(fim.mine(SHOP, size=2, epsilon=9)).text
    assert "That is a weak promise to any one basket." in weak
    assert "So little" not in weak


def test_a_promise_says_whom_it_is_about() -> None:
    some: dict[str, Any] = {"basket": "b", "item": "i", "user": "u"}
    rows = [{"u": f"u{n}", "b": n, "i": item, "x": n % 2} for n in range(900) for item in ("tea", "jam")]
    table = pa.Table.from_pylist(rows)
    with pytest.warns(fim.PrivacyWarning, match="does not hide which users"):
        found = read(fim.mine(table, **some, where="x = 1", neighbors="replace-one")).text
    assert "had any one customer whose rows were read bought anything else, and its rows been read just as" in found
    assert "released exactly" not in found
    assert "those where x = 1" in found
    found = read(fim.mine(table, **some, neighbors="add-remove")).text
    assert "had any one customer not been in the data" in found
    assert "released exactly" not in found


def test_a_page_where_nothing_came_out_says_so_and_asks_for_nothing() -> None:
    nothing = made(epsilon=0.01)
    assert not nothing
    found = read(nothing)
    assert "Nothing stood out from the noise." in found.text
    assert "An empty page is a valid answer." in found.text
    few = made(top=40, supports=True)
    for release in (nothing, few):
        assert release.advice is not None
        assert "fim.mine" not in read(release).text
        assert release.advice.explanation not in read(release).text


def test_a_page_of_segments_says_where_nothing_came_out() -> None:
    rows = [{"land": "France", "order": n, "item": item} for n in range(900) for item in ("tea", "jam")]
    rows += [{"land": "Germany & Co", "order": -n, "item": "tea"} for n in range(1, 9)]
    lands: dict[str, Any] = {"by": "land", "segments": ["France", "Germany & Co"], "basket": "order", "item": "item"}
    content = page(fim.mine(pa.Table.from_pylist(rows), **lands))
    found = Reader(content)
    assert '<p class="nothing">Nothing stood out from the noise for Germany &amp; Co.</p>' in content
    assert "fim.mine" not in found.text
    assert "900" not in found.text  # how many there are is private


def test_nothing_is_loaded_and_nothing_runs() -> None:
    content = page(made(rules=True))
    found = Reader(content)
    assert not {tag for tag, _ in found.tags} & {"script", "iframe", "object", "embed", "img", "form", "base", "a"}
    policy = [given["content"] for tag, given in found.tags if tag == "meta" and "http-equiv" in given]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]
    assert not re.search(r"https?:|url\(|@import|//", content)
    assert all(not name.startswith("on") for _, given in found.tags for name in given)


def test_names_are_text_wherever_they_stand() -> None:
    baskets = [[*EVIL]] * 900
    release = fim.mine(baskets, size=2, top=9, rules=True, epsilon=50, seed=1)
    assert len(release) > 3
    content = page(release, rules_of(release))
    found = Reader(content)
    assert not {tag for tag, _ in found.tags} & {"script", "b"}
    assert content.count("</style>") == 1
    assert "<script>alert(1)</script>" in found.text
    assert "a & b" in found.text
    assert "\u202e" not in content
    assert all(set(given) <= KNOWN for _, given in found.tags), {name for _, given in found.tags for name in given}


KNOWN = {
    *("charset", "http-equiv", "content", "name", "rel", "href", "lang", "class", "style", "id", "role", "scope"),
    *("aria-labelledby", "aria-label", "aria-hidden", "title", "colspan"),
}


def test_headings_and_tables_can_be_heard() -> None:
    found = read(made(rules=True))
    levels = [int(tag[1]) for tag, _ in found.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert set(levels[1:]) == {2}
    names = {given["id"] for _, given in found.tags if "id" in given}
    assert {given["aria-labelledby"] for tag, given in found.tags if tag == "section"} == names
    assert [tag for tag, _ in found.tags].count("caption") == [tag for tag, _ in found.tags].count("table") == 2
    assert [given["lang"] for tag, given in found.tags if tag == "html"] == ["en"]


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1])
def test_text_stands_out_from_its_ground_in_light_and_dark(scheme: int) -> None:
    """A contrast of 4.5 at least: WCAG 2.2, 1.4.3."""
    block = re.findall(r":root \{(.*?)\}", STYLE, flags=re.DOTALL)[scheme]
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
    for ink, ground in [("ink", "paper"), ("soft", "paper"), ("ink", "card"), ("soft", "card"), ("warn", "warnpaper")]:
        bright, dark = sorted((luminance(colours[ink]), luminance(colours[ground])), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)


def test_a_report_is_written_whole(tmp_path: Path) -> None:
    release = made(rules=True)
    fim.report(release, tmp_path / "page.html", min_lift=1.2)
    assert Reader((tmp_path / "page.html").read_text(encoding="utf-8")).text
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    release.save(tmp_path / "r.parquet")
    fim.report(fim.load(tmp_path / "r.parquet"), tmp_path / "again.html", min_lift=1.2)
    assert (tmp_path / "again.html").read_text() == (tmp_path / "page.html").read_text()
    with pytest.raises(ParameterError, match="a report is made of a Release, not of"):
        fim.report("r.parquet", tmp_path / "x.html")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="a report is written to the path of a file"):
        fim.report(release, [])  # type: ignore[arg-type]
    with pytest.raises(OutputError, match="does not exist"):
        fim.report(release, tmp_path / "no" / "page.html")
    with pytest.raises(ParameterError, match="min_lift must be"):
        fim.report(release, tmp_path / "x.html", min_lift=-1)
    assert not (tmp_path / "x.html").exists()
