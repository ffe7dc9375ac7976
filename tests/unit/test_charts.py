"""A release as a picture: SVG and matplotlib draw the same."""

import dataclasses
import importlib
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
from released import mined, release_of

import fim_private as fim
from fim_private.display import in_braces
from fim_private.errors import MissingExtraError
from fim_private.release.chart import WIDE, BarChart
from fim_private.release.drawing import shade_of
from fim_private.release.figures import figure_charts, figure_svg
from fim_private.release.labels import placed_labels, short_name
from fim_private.release.page import report_page
from fim_private.release.picture import charts_of
from fim_private.release.release import Itemset, Release
from fim_private.release.rules import ALL_RULES, Rules, rules_of

EVIL = [
    "<script>alert(1)</script>", '" onload="x', "a & b", "line\nbreak", "\u202eevil", " ",
    "$\\frac{1}$", "$x",
]  # fmt: skip
SPACE = "{http://www.w3.org/2000/svg}"
TAGS = {"svg", "style", "rect", "path", "circle", "g", "title", "desc", "text"}


@pytest.fixture(scope="module")
def pyplot() -> Iterator[Any]:
    mpl.use("agg")
    module: Any = importlib.import_module("matplotlib.pyplot")
    yield module
    module.close("all")


ASKED: list[dict[str, Any]] = [
    {"supports": True},
    {},
    {"epsilon": 1e-4, "supports": True},
    {"supports": True, "count": True},
    {"min_support": 0.1, "top": None},
    {"mechanism": "exponential", "universe_size": 99, "top": 1},
    {"rules": True, "size": "1-3"},
]


def texts(drawing: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(drawing).iter(f"{SPACE}text")]


def chart_of(release: Release, *, relative: bool = True) -> BarChart:
    [chart] = charts_of(release, relative=relative)
    return chart


def test_bars_have_the_numbers_of_the_release() -> None:
    release: Any = mined(supports=True, neighbors="replace-one")
    shares, units = chart_of(release), chart_of(release, relative=False)
    assert (shares.per_cent, units.per_cent) == (True, False)
    assert shares.scale == "share of all 1,300 baskets"
    assert units.scale == "baskets"
    for one, share, number in zip(release, shares.bars, units.bars, strict=True):
        assert (number.length, number.low, number.high) == (one.support, *one.interval)
        assert number.number == f"{one.support:,}"
        assert share.length == pytest.approx(100 * (one.support or 0) / 1300)
        assert share.number.endswith(" %")


def test_the_guarantee_or_the_want_of_one_is_said() -> None:
    seeded, private = chart_of(mined()), mined(seed=None)
    assert seeded.warning == mined().guarantee
    assert seeded.warning not in seeded.notes
    assert chart_of(private).warning == ""
    assert chart_of(private).notes[-1] == private.guarantee


def test_the_doubtful_are_marked() -> None:
    sure, doubtful = Itemset(("a", "b"), doubtful=False), Itemset(("c", "d"), doubtful=True)
    first, second = chart_of(release_of(sure, doubtful)).bars
    assert (first.label(WIDE), second.label(WIDE)) == ("{a, b}", "{c, d} ?")
    assert second.described == "{c, d}; may not be one of those asked for"


def test_very_many_are_cut_and_counted() -> None:
    chart = chart_of(release_of(*(Itemset((n, n + 1)) for n in range(250)), top=250))
    assert (len(chart.bars), chart.more) == (200, 50)
    assert "50 more are not drawn." in [*chart.below]


@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.one_in(3)
def test_every_release_has_its_svg(asked: dict[str, Any]) -> None:
    release = mined(**asked)
    chart = chart_of(release)
    shown = texts(release.to_svg())
    for bar in chart.bars:
        assert bar.label(WIDE) in shown
        assert not bar.number or bar.number in shown
    assert " ".join(shown).count("NOT PRIVATE") == 1
    whole = " ".join(shown)
    for text in (chart.title, *chart.below):
        assert " ".join(text.split()) in whole
    assert (chart.scale in shown) == chart.has_lengths


def test_svg_is_one_file_that_loads_and_runs_nothing() -> None:
    drawing = mined(supports=True).to_svg()
    root = ElementTree.fromstring(drawing)
    assert root.tag == f"{SPACE}svg"
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == chart_of(mined(supports=True)).title
    assert not any(re.match("on|.*href", name) for each in root.iter() for name in each.attrib)
    assert drawing.count("http") == 1  # the name space
    assert "url(" not in drawing
    assert "@import" not in drawing


@pytest.mark.parametrize("name", ["tea", *EVIL])
def test_names_are_text_in_svg(name: str) -> None:
    drawing = release_of(Itemset((name,))).to_svg()
    tags = {each.tag.removeprefix(SPACE) for each in ElementTree.fromstring(drawing).iter()}
    assert tags <= TAGS
    assert in_braces((name,)) in texts(drawing)
    assert "\u202e" not in drawing


@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.one_in(3)
def test_plot_draws_what_the_chart_says(asked: dict[str, Any], pyplot: Any) -> None:
    release = mined(**asked)
    chart = chart_of(release)
    ax = release.plot()
    if chart.has_lengths:
        intervals, dots = ax.collections
        drawn = [(*ends[:, 0],) for ends in intervals.get_segments()]
        released = [bar for bar in chart.bars if bar.length is not None]
        assert drawn == [(bar.low, bar.high) for bar in released]
        assert [*dots.get_offsets()[:, 0]] == [bar.length for bar in released]
        assert ax.get_xlim() == (0, chart.ticks[-1])
        assert chart.scale in ax.get_xlabel()
        assert ax.get_yticklabels()[0].get_text().startswith("{bread")
    told = " ".join(each.get_text() for each in ax.figure.findobj(mpl.text.Text)).split()
    assert {"NOT", "PRIVATE:"} <= {*told}
    assert {word for note in chart.notes for word in note.split()} <= {*told}
    ax.figure.savefig(io.BytesIO(), format="png")
    pyplot.close(ax.figure)


@pytest.mark.parametrize("name", [name for name in EVIL if name.isprintable()])
@pytest.mark.parametrize("supports", [True, False])
def test_names_are_text_in_matplotlib(name: str, supports: bool, pyplot: Any) -> None:
    released = {"shares": mined(supports=True).shares} if supports else {}
    one = Itemset((name, "$y$"), 5, (2, 8)) if supports else Itemset((name, "$y$"))
    ax = release_of(one, **released).plot()
    label = short_name((name, "$y$"), WIDE)
    shown = [each for each in ax.findobj(mpl.text.Text) if label in each.get_text()]
    assert shown
    assert not any(each.get_parse_math() or each.get_usetex() for each in shown)
    drawn = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        ax.figure.savefig(drawn, format="svg")
    ElementTree.fromstring(drawn.getvalue())
    pyplot.close(ax.figure)


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r'pip install "fim-private\[figures\]"$'):
        mined().plot()


def segments(**asked: Any) -> fim.SegmentedRelease:
    orders = [(n, item) for n in range(900) for item in ("tea", "jam", "rye")]
    rows = [{"b": n, "i": item, "s": "north" if n % 3 else "<south>"} for n, item in orders]
    frame: Any = importlib.import_module("pandas").DataFrame(rows)
    columns: Any = {"basket": "b", "item": "i", "by": "s", "segments": ["north", "<south>", "west"]}
    asked = {"top": 2, "supports": True, "epsilon": 5, "seed": 1, **asked}
    release = fim.mine(frame, **columns, **asked)
    assert isinstance(release, fim.SegmentedRelease)
    return release


@pytest.mark.parametrize("relative", [True, False])
def test_segments_stand_below_each_other_on_one_scale(relative: bool, tmp_path: Path) -> None:
    release = segments()
    drawing = release.to_svg(relative=relative)
    whole = " ".join(texts(drawing))
    for name, one in release.items():
        assert f"s {name}: " in whole
        assert all(bar.label(WIDE) in whole for bar in chart_of(one).bars)
    assert whole.count("NOT PRIVATE") == 1
    ticks = re.findall(r'text-anchor="middle">([^<]*)<', drawing)
    ticks = [tick for tick in ticks if " " not in tick.removesuffix(" %")]
    assert ticks[: len(ticks) // 2] == ticks[len(ticks) // 2 :]  # nobody is in the west
    release.save(tmp_path / "segments.svg")
    assert (tmp_path / "segments.svg").read_text(encoding="utf-8") == release.to_svg()


def test_the_guarantee_of_segments_is_said_once_and_of_all() -> None:
    release = segments(seed=None, neighbors="add-remove")
    whole = " ".join(texts(release.to_svg()))
    assert whole.count("Guarantee") == 1
    assert release.guarantee in whole


def test_it_draws_on_given_axes_and_segments_in_one_figure() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    asked: dict[str, Any] = {"size": 2, "top": 2, "supports": True, "seed": 1}
    release = fim.mine([["a", "b"]] * 500 + [["a", "c"]] * 400, **asked)
    _, given = pyplot.subplots()
    assert release.plot(given) is given
    assert "95 %" in given.get_xlabel()
    with pytest.raises(fim.ParameterError, match=r"^ax must be axes of matplotlib"):
        release.plot(3)
    sales = pa.table({"items": [["a", "b"]] * 900, "store": ["A", "B", "A"] * 300})
    both = fim.mine(sales, by="store", segments=["A", "B"], **asked).plot()
    assert len(both) == 2
    assert both[0].get_xlim() == both[1].get_xlim()
    assert release.to_pandas(lists=True)["itemsets"].tolist()[0] == ["a", "b"]
    pyplot.close("all")


def many_rules(count: int) -> Rules:
    sides = [(f"item {n}",) for n in range(count)]
    chances, lifts = (np.linspace(low, high, count) for low, high in ((0.3, 0.4), (1.5, 1.8)))
    columns = {
        **{"support": chances / 3, "confidence": chances, "lift": lifts},
        **{"support_lower": chances - 0.05, "support_upper": chances + 0.05},
        **{"confidence_lower": chances - 0.05, "confidence_upper": chances + 0.05},
        **{"lift_lower": lifts / 1.2, "lift_upper": lifts * 1.2},
    }
    both = [*zip(sides, sides[::-1], strict=True)]
    return Rules(both, columns, np.arange(count) > count / 2, "user", 1, ALL_RULES)


FIRST, SECOND = Itemset(("a", "b"), 50, (45, 55)), Itemset(("a", "c"), 30, (25, 35))
SINGLE, NEAR = Itemset(("z",), 90, (85, 95)), dataclasses.replace(SECOND, interval=(25, 45))


@pytest.mark.parametrize(
    ("itemsets", "unit", "title"),
    [
        (
            (SINGLE, SECOND, FIRST),
            "basket",
            "a and b are bought together most, in about 50 baskets",
        ),
        ((FIRST, NEAR), "basket", "a and b are bought together in about 50 baskets"),
        ((FIRST,), "basket", "a and b are bought together in about 50 baskets"),
        ((SINGLE,), "user", "z is bought by about 90 customers"),
    ],
)
def test_titles_follow_the_numbers(itemsets: tuple[Itemset, ...], unit: str, title: str) -> None:
    shares = mined(supports=True).shares
    release = release_of(*itemsets, shares=shares, sizes=(1, 2), privacy_unit=unit)
    assert chart_of(release).title == title


def test_a_title_of_rules_is_the_surest() -> None:
    title = "About 30 % of customers with item 0 also have item 2: lift 1.50"
    assert many_rules(3).chart().title == title


def ruled(count: int) -> Release:
    """A release of rules: tea goes with each of some other items, less and less often."""
    others = [f"item {n}" for n in range(count)]
    baskets = [["tea", item] for n, item in enumerate(others) for _ in range(900 - 10 * n)]
    baskets += [[item] for item in others for _ in range(300)]
    baskets += [["rye"]] * 20_000
    asked: dict[str, Any] = {"size": 2, "epsilon": 8, "delta": 1e-6, "seed": 2, "rules": True}
    release = fim.mine(baskets, **asked, top=count)
    assert isinstance(release, Release)
    return release


@pytest.fixture(scope="module")
def tea() -> Release:
    return ruled(50)


def drawing_of(release: Release, kind: str) -> Any:
    [chart] = figure_charts(release, kind)
    return chart.drawing


def test_a_network_has_a_line_for_each_of_the_40_surest_pairs(tea: Release) -> None:
    [chart] = figure_charts(tea, "network")
    drawing: Any = chart.drawing
    lines = [line for line in drawing.lines if line.described]
    assert (len(lines), chart.more) == (40, 10)
    assert "10 more are not drawn." in chart.below
    # tea, and what goes with it: each has its name.
    assert len(drawing.dots) == 41
    names = {text.content for text in drawing.texts}
    assert "tea" in names
    assert len({name for name in names if name.startswith("item")}) == 40
    confidences = {}
    for left, right, numbers, _ in rules_of(tea).rows():
        confidences[f"{in_braces(left)} → {in_braces(right)}"] = numbers["confidence"]
    widest = max(lines, key=lambda line: line.width).described.partition(":")[0]
    ends = [line.described.partition(":")[0] for line in lines]
    assert confidences[widest] == max(confidences[end] for end in ends)
    # Of the two rules of a pair it is the one with more confidence.
    assert all(end.endswith("{tea}") for end in ends)
    # All is inside, and nothing lies on anything else.
    for dot in drawing.dots:
        assert 0 <= dot.centre[0] <= drawing.width
        assert 0 <= dot.centre[1] <= drawing.height
    assert len({dot.centre for dot in drawing.dots}) == 41


def test_a_label_lies_on_the_fewest_lines_where_it_must_lie_on_some() -> None:
    everywhere, above, below = (0, 0, 400, 400), (0, 0, 400, 190), (0, 210, 400, 400)
    right = (210, 190, 400, 210)
    [label] = placed_labels(["tea"], [(200, 200)], everywhere, [everywhere, above, below, right])
    assert label is not None
    assert (label.anchor, label.y) == ("end", 200)


def test_a_matrix_has_a_larger_square_for_more_units_and_hatches_doubt() -> None:
    baskets = [["a", "b"]] * 4_000 + [["a", "c"]] * 1_000 + [["b"], ["c"], ["d"]] * 3_000
    baskets += [["b", "d"]] * 5_250
    release = fim.mine(baskets, size=2, top=3, epsilon=4, delta=1e-6, seed=1, rules=True)
    assert isinstance(release, Release)
    squares = [square for square in drawing_of(release, "matrix").squares if square.described]
    sides = {frozenset(re.findall(r"\b[abcd]\b", square.described)): square for square in squares}
    more, less = sides[frozenset("ab")], sides[frozenset("ac")]
    supports = {frozenset(itemset.items or ()): itemset.support or 0 for itemset in release}
    ratio = supports[frozenset("ab")] / supports[frozenset("ac")]
    assert (more.side / less.side) ** 2 == pytest.approx(ratio, rel=0.02)
    doubts = {frozenset((*left, *right)): mark for left, right, _, mark in rules_of(release).rows()}
    assert {pair: square.doubtful for pair, square in sides.items()} == doubts
    assert any(doubts.values())


@pytest.mark.parametrize(
    ("lift", "shade"), [(0.9, "lift-0"), (1, "lift-1"), (3.9, "lift-3"), (99, "lift-6")]
)
def test_a_colour_stands_for_a_range_of_lifts(lift: float, shade: str) -> None:
    assert shade_of(lift) == shade


def test_the_twelve_surest_rules_have_names_and_intervals_and_the_others_numbers() -> None:
    chart: Any = many_rules(60).chart()
    texts = [text.content for text in chart.drawing.texts]
    for place, bar in enumerate(chart.bars):
        in_column = f"{in_braces(bar.sides[0])} →" in texts
        assert in_column == (place < 12)
    assert sum(line.shade == "faint" and line.width == 2 for line in chart.drawing.lines) == 24
    numbers = {int(text) for text in texts if text.isdecimal() and int(text) > 12}
    legend = [entry for text in texts if "→ {" in text for entry in text.split(" · ")]
    explained = {int(entry.split()[0]) for entry in legend if entry[0].isdigit() and "→" in entry}
    assert numbers == explained
    missing = 48 - len(numbers)
    said = [entry for text in texts for entry in text.split(" · ") if "no number" in entry]
    assert said == ([f"{missing} dots have no number: there is no room for it"] if missing else [])


@pytest.mark.parametrize("kind", ["network", "matrix", "supports", "rules"])
def test_every_kind_is_an_svg_with_a_text_alternative(kind: str, tea: Release, pyplot: Any) -> None:
    drawing = figure_svg(tea, kind)
    root: Any = ElementTree.fromstring(drawing)
    assert root.find(f"{SPACE}title") is not None
    assert "tea" in root.find(f"{SPACE}desc").text
    assert {each.tag.removeprefix(SPACE) for each in root.iter()} <= TAGS
    assert all(float(each.attrib["font-size"]) >= 12 for each in root.iter(f"{SPACE}text"))
    assert drawing.count("NOT PRIVATE") == 1
    assert "NOT PRIVATE" not in figure_svg(tea, kind, promise=False)
    ax = tea.plot(kind=kind)
    ax.figure.savefig(io.BytesIO(), format="pdf")
    pyplot.close(ax.figure)


@pytest.mark.parametrize("kind", ["network", "matrix", "rules"])
def test_no_rules_and_no_lift_are_said(kind: str) -> None:
    empty = fim.mine([["a", "b"]] * 9, size=2, top=3, epsilon=1, delta=1e-6, seed=1, rules=True)
    assert "There are no rules to draw" in figure_svg(empty, kind)
    with pytest.raises(fim.ParameterError, match="mine again with"):
        mined(supports=True).plot(kind=kind)
    with pytest.raises(fim.ParameterError, match=r"^kind must be one of network, matrix, supports"):
        mined(supports=True).plot(kind=f"{kind}s of all")


def test_without_networkx_a_network_says_what_to_do_and_a_page_has_a_matrix(
    tea: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_network = report_page(tea, ALL_RULES, title=None)
    assert "An arrow leads from the first item to the second" in with_network
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtraError, match=r"figures\]\"; the kind matrix does not$"):
        figure_svg(tea, "network")
    assert figure_svg(tea, "matrix")
    with_matrix = report_page(tea, ALL_RULES, title=None)
    assert "in the row of one, and in the column of the other" in with_matrix
    for content in (with_network, with_matrix):
        [picture] = re.findall(r'<svg class="fim-chart".*?</svg>', content, re.DOTALL)
        root = ElementTree.fromstring(picture)
        assert "tea" in root.attrib["aria-label"]
        assert {each.tag for each in root.iter()} <= {tag.removeprefix(SPACE) for tag in TAGS}
    few = report_page(ruled(2), ALL_RULES, title=None)
    assert 'class="fim-chart"' not in few
    assert few.count('class="row"') == 2
