"""What objects show of themselves in a session and in a notebook."""

import html
import re
from functools import cache
from typing import Any

import pytest
from released import Markup, release_of

import fim_private as fim
from fim_private.display import FEW, Table, in_braces, printable
from fim_private.errors import ParameterError
from fim_private.output.inspections import render_inspection
from fim_private.output.releases import render_table
from fim_private.output.screen import Screen
from fim_private.release.changes import changes
from fim_private.release.page import changes_page, page, trend_page
from fim_private.release.release import Itemset, Release
from fim_private.release.rules import rules_of

SHOP = [["milk", "tea"]] * 700 + [["bread", "milk"]] * 400 + [["jam", "tea"]] * 300


@cache
def mined() -> Release:
    return fim.mine(SHOP, top=3, supports=True, count=True, seed=1)


@cache
def nothing() -> Release:
    return fim.mine([["milk", "tea"]] * 3)


@cache
def rules() -> Any:
    return fim.mine(SHOP, top=3, rules=True, epsilon=5, seed=1).rules()


def rows(count: int) -> Table:
    cells = [(f"row {n}", str(n)) for n in range(count)]
    return Table("title", ("name", "n"), cells, ["note"], "all()")


def test_text_is_cut_after_a_few_rows_and_says_where_the_rest_is() -> None:
    lines = rows(FEW + 1234).text().splitlines()
    assert lines[:3] == ["title", "  name   n", "  row 0  0"]
    assert lines[-2:] == ["  and 1,234 more: all()", "note"]
    assert len(lines) == FEW + 4
    assert rows(FEW).text().splitlines()[-2:] == [f"  row {FEW - 1}  {FEW - 1}", "note"]
    assert rows(0).text() == "title\nnote"


TAGS = {"div", "b", "table", "thead", "tbody", "tr", "th", "td"}
EVIL = ["<script>alert(1)</script>", "a\nb", "\x1b[2J", "\u202eevil", "&amp;", '"><b>']


@pytest.mark.parametrize(
    "thing", [mined(), nothing(), fim.plan(units=1000), fim.plan(typical_basket=5)]
)
def test_repr_is_a_few_lines_and_no_dump_of_fields(thing: Any) -> None:
    assert len(thing) == len(list(thing))
    assert bool(thing) is (thing is not nothing())
    assert len(repr(thing).splitlines()) <= FEW + 5
    assert not re.search(r"\w=\(|PrivacyCost|Fraction", repr(thing))


@pytest.mark.filterwarnings("ignore::fim_private.errors.PrivacyWarning")
@pytest.mark.parametrize("label", EVIL)
def test_names_are_text_wherever_a_notebook_shows_them(label: str) -> None:
    release = fim.mine([[label, "tea"]] * 900 + [["tea"]] * 900, rules=True, epsilon=50, seed=1)
    assert len(release.rules())
    for shown in (release, release.rules()):
        html = shown._repr_html_()
        markup = Markup(html)
        assert {tag for tag, _ in markup.tags} <= TAGS
        assert all(character.isprintable() for character in html)
        assert printable(label) in markup.text
        assert not re.search(r"color|background|<style|class=", html)  # those of the notebook
    shown = release_of(Itemset((label, "tea")))
    for text in (repr(shown), str(shown)):
        assert all(character.isprintable() for character in text.replace("\n", ""))
        assert len(text.splitlines()) <= 4


def test_a_release_shows_supports_shares_and_the_guarantee() -> None:
    title, heads, first, *_, last = repr(mined()).splitlines()
    assert title == f"Release: {mined().title}"
    assert heads.split("  ")[1] == "itemset"
    assert re.fullmatch(r"  \{milk, tea\} +\d{3}  \d\d\.\d % +\d{3} to \d{3}", first)
    assert last == mined().guarantee
    assert last.startswith("NOT PRIVATE: a seed was given")
    assert mined().columns == ("itemset", "support", "share", "95 % interval")


SLICED = ("bread, sliced", "milk")


def sliced(rules: bool = True) -> Release:
    baskets = [SLICED] * 700 + [("milk", "tea")] * 400 + [("a {b}", "tea")] * 300
    listed = ["milk", "tea", *SLICED]
    return fim.mine(baskets, top=2, rules=rules, epsilon=5, catalogue=listed, seed=1)


@pytest.mark.parametrize(
    ("items", "shown"),
    [
        (SLICED, '{"bread, sliced", milk}'),
        (("milk", 7), "{milk, 7}"),
        (("a {b}", "}"), '{"a {b}", "}"}'),
        (('5" pipe', "\\,"), '{"5\\" pipe", "\\\\,"}'),
        ((" ", "a\nb", "a,\n"), '{" ", a\\nb, "a,\\n"}'),
    ],
)
@pytest.mark.every_case
def test_items_that_look_like_several_are_quoted(items: tuple[Any, ...], shown: str) -> None:
    assert in_braces(items) == shown


def test_items_with_commas_are_quoted_in_every_form() -> None:
    shown, release = '{"bread, sliced", milk}', sliced()
    made, moved = {"": rules_of(release)}, changes(release, sliced(), keep_all=True)
    table = render_table(release, Screen(), rules=made)
    assert '{"bread, sliced"} → {milk}' in table
    assert all(shown in text for text in (repr(release), str(release), table, repr(moved)))
    for markup in (
        release._repr_html_(),
        release.to_svg(made),
        page(release, made),
        release.rules()._repr_html_(),
        changes_page(moved),
        trend_page({"a": release, "b": sliced()}),
    ):
        text = html.unescape(markup)
        assert '"bread, sliced"' in text
        assert "bread, sliced" not in text.replace('"bread, sliced"', "")
    assert '"bread, sliced" and milk are bought together' in html.unescape(release.to_svg())
    assert shown in release.to_markdown()
    left_out = fim.mine(SHOP, exclude=["bread, sliced", "jam"], seed=1)
    assert '"bread, sliced", jam' in " ".join(left_out.rows_read)
    assert '"bread, sliced", milk' in render_inspection(fim.inspect([SLICED] * 3), Screen())


def test_a_session_keeps_the_mark_of_doubt_behind_a_name_that_is_cut() -> None:
    long = Itemset(("a" * 80, "b"), doubtful=True)
    shown = repr(release_of(long, Itemset(("c" * 80, "d"), doubtful=False)))
    assert re.search(r"  \{a+… \?\n", shown)
    assert re.search(r"  \{c+…\n", shown)
    assert max(map(len, shown.splitlines()[1:3])) == 72


def test_a_release_is_a_sequence_of_its_itemsets() -> None:
    first, second, third = mined().itemsets
    assert [*mined()] == [*mined().itemsets]
    assert (mined()[0], mined()[-1], mined()[1:]) == (first, third, (second, third))
    for items in ({"milk", "tea"}, frozenset({"milk", "tea"}), ("tea", "milk"), ["milk", "tea"]):
        assert items in mined()
        assert mined()[items] == first
    assert first in mined()
    assert mined()[Itemset(("milk", "tea"))] == first  # whatever its support
    assert {"milk"} not in mined()
    assert {"milk", "tea", "jam"} not in mined()
    assert Itemset(("milk", "rye")) not in mined()
    with pytest.raises(KeyError):
        mined()[{"milk"}]
    with pytest.raises(IndexError):
        mined()[3]
    numbers = release_of(Itemset((39, 48)))
    assert ({39, 48} in numbers, {"39", "48"} in numbers) == (True, False)


@pytest.mark.parametrize("item", ["milk", b"milk", 39, None, 2.5])
def test_an_item_is_no_itemset(item: Any) -> None:
    with pytest.raises(ParameterError, match=r"^itemset must be a collection of items such"):
        item in mined()  # noqa: B015
