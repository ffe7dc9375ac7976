"""Pages of several releases: how shares moved, and what changed."""

import html
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from commands import run

import fim_private as fim
from fim_private.release.changes import changes
from fim_private.release.page import changes_page, named, trend_page

EVIL = "<script>alert(1)</script>"
ASKED: dict[str, Any] = {"size": 2, "epsilon": 4.0, "delta": 1e-6, "top": 3}


def week(seed: int, tea: int, jam: int = 500) -> fim.Release:
    rows = (
        [("tea", "milk")] * tea
        + [("jam", EVIL)] * jam
        + [("salt", "oil")] * 400
        + [("x",)] * (3000 - tea - jam - 400)
    )
    release: fim.Release = fim.mine(rows, seed=seed, **ASKED)
    return release


def test_lines_are_sorted_by_how_surely_they_moved() -> None:
    releases = [week(seed, tea) for seed, tea in enumerate((500, 700, 900, 1100))]
    page = trend_page(named(releases))
    assert page.count("<polyline") == page.count('class="band"') == 3
    assert page.index("milk") < page.index("jam")
    assert re.search(
        "The surest change: .*milk.* rose from 1[67].. % to 3[67].. % of all baskets", page
    )
    assert "1 of 3 itemsets changed by more than the noise" in page
    assert page.index("Sure moves") < page.rindex("milk") < page.index("No sure move: 2")
    label = r"release 1 <span.*?>1\d\.\d+ %</span>, release 4 <span.*?>3\d\.\d+ %: "
    assert re.search(label + r"<strong>\+\d+\.\d+ points", page)
    assert EVIL not in page
    assert "NOT PRIVATE" in page
    assert not re.search(r"(href|src)=\"(?!#|data:)", page)


def test_a_gap_where_a_release_lacks_an_itemset() -> None:
    releases = [week(1, 500), week(2, 500, jam=0), week(3, 500), week(4, 500)]
    page = trend_page(named(releases))
    assert page.count("<polyline") == 4  # of jam two


CARD = re.compile(r'<div class="multiple">.*?<p class="move">.*?</p>', re.DOTALL)


def verdicts_on(page: str) -> list[tuple[frozenset[str], bool]]:
    """Return the items of each chart of a trend, and whether its change is clear."""
    found = []
    for card in CARD.findall(page):
        items = re.findall(r"<bdi>(.*?)</bdi>", card)
        found.append((frozenset(map(html.unescape, items)), "may be noise" not in card))
    return found


def shops() -> list[fim.Release]:
    """Return releases of which the first and the last have many itemsets of their own."""
    made = []
    for seed, first in enumerate((0, 4, 8)):
        rows: list[tuple[str, ...]] = [
            (f"a{n}", f"b{n}") for n in range(first, first + 12) for _ in range(150 + 20 * n)
        ]
        rows += [("x", "y")] * (300 + 400 * seed) + [("z",)] * (6000 - len(rows))
        made.append(fim.mine(rows, size=2, top=12, epsilon=3.0, delta=1e-6, seed=seed))
    return made


def test_two_releases_have_the_same_verdicts_in_changes_and_in_a_trend() -> None:
    before, _, after = shops()
    found = fim.changes(before, after, keep_all=True)
    page = trend_page(named([before, after]))
    assert verdicts_on(page) == verdicts_of(found)
    kinds = {change.change for change in found if change.clear}
    assert kinds >= {"rise", "new"}
    assert any(change.change == "gone" for change in found)
    clear = sum(change.clear for change in found)
    assert 0 < clear < len(found)
    assert f"{clear} of {found.compared} itemsets changed by more than the noise." in page
    # what level a claim has, and what is assumed of new and gone itemsets
    assert all(note in html.unescape(page) for note in found.statistics)
    shown = {change.items for change in fim.changes(before, after)}
    assert shown == {change.items for change in found if change.clear}
    doubts = ["may be noise" in found.cells(change)[1] for change in found]
    assert doubts == [not change.clear for change in found]


def verdicts_of(found: fim.Changes) -> list[tuple[frozenset[str], bool]]:
    """Return the same of changes: sure ones, then new and gone ones, then others, as in a trend."""
    sure = [one for one in found if one.clear]
    in_one = [one for one in found if not one.clear and one.change in ("new", "gone")]
    others = [one for one in found if not one.clear and one.change in ("rise", "fall")]
    return [
        (frozenset(map(str, change.items)), change.clear) for change in (*sure, *in_one, *others)
    ]


def test_a_trend_of_more_compares_the_first_with_the_last() -> None:
    first, middle, last = shops()
    expected = verdicts_of(fim.changes(first, last, keep_all=True))
    page = trend_page(named([first, middle, last]))
    verdicts = verdicts_on(page)
    assert verdicts[: len(expected)] == expected
    others = {items for items, _ in verdicts[len(expected) :]}
    either = {items for items, _ in expected}
    assert others == {frozenset(map(str, one.items or ())) for one in middle} - either
    assert page.count("not compared</p>") == len(others)


BARE = fim.mine([("tea", "milk")] * 900, seed=2, supports=False, **ASKED)
OTHER = fim.mine([("tea", "milk")] * 900, seed=2, neighbors="replace-one", **ASKED)
SEGMENTED = fim.mine(
    pd.DataFrame({"basket": range(900), "item": "tea", "shop": ["north", "south", "south"] * 300}),
    basket="basket", item="item", by="shop", segments=["north", "south"], size=1, seed=2,
)  # fmt: skip


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "a trend needs two releases or more, not 1"),
        ([BARE], "release 2 has no shares to compare: mine"),
        ([OTHER], "not compared: they differ in neighbors"),
        ([SEGMENTED], "one of these holds several segments or periods: make a report of that one"),
        ([1], "a report is made of a Release, or of several in a list, not of a list"),
    ],
)
def test_a_trend_needs_two_that_are_alike(more: list[Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(fim.ParameterError, match=said):
        fim.report([week(1, 500), *more], tmp_path / "p.html")
    assert not (tmp_path / "p.html").exists()


def test_pages_on_the_command_line(tmp_path: Path) -> None:
    for seed, tea in enumerate((500, 1100)):
        week(seed, tea).save(tmp_path / f"{seed}.json")
    done = run(
        tmp_path, "report", "0.json", "1.json", "--output", "trend.html", "--title", "Tea & milk"
    )
    assert done.returncode == 0, done.stderr
    assert "<h1><bdi>Tea &amp; milk</bdi></h1>" in (tmp_path / "trend.html").read_text()
    done = run(tmp_path, "changes", "0.json", "1.json", "--report", "changes.html")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "changes.html").read_text() == changes_page(
        changes(tmp_path / "0.json", tmp_path / "1.json")
    )
    assert "rise" in (tmp_path / "changes.html").read_text()
    assert run(tmp_path, "changes", "0.json", "1.json", "--report", "0.json").returncode == 2


def test_a_release_of_several_periods_shows_its_trend(tmp_path: Path) -> None:
    rows = [(n, item, f"2026-11-{16 + n % 14:02}") for n in range(3000) for item in ("tea", "milk")]
    sales = pd.DataFrame(rows, columns=["order", "item", "day"])
    asked: dict[str, Any] = {"basket": "order", "item": "item", "time": "day", "top": 2, "seed": 1}
    both = fim.mine(sales, period="week", periods="2026-W47..2026-W48", **asked)
    fim.report(both, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Shares over time" in page
    assert "2026-W47" in page
    found = fim.changes(both["2026-W47"], both["2026-W48"], keep_all=True)
    assert found.names == ("2026-W47", "2026-W48")
