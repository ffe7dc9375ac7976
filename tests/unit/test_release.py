"""Release: the forms it is handed out in, and `mine`."""

import datetime
import re
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from released import release_of

import fim_private as fim
from fim_private.dp.accountant import Step
from fim_private.dp.cost import Exact, PrivacyCost, least_in_words, most_in_words, one_in_words
from fim_private.errors import FimPrivateError, ParameterError
from fim_private.output.releases import render_table
from fim_private.output.screen import Screen
from fim_private.release.page import page
from fim_private.release.release import Itemset, Release
from fim_private.request.supports import SupportNoise

NUMBERS = release_of(Itemset((39, 48)))
NUMBERED = release_of(Itemset((39, 48), 9), Itemset((39, 41), 7))
NOISE = SupportNoise.for_budget(Fraction(1), None, 2)
# The budget of a release with supports.
SPLIT = (Step("selection", (2,), Fraction(1, 2)), Step("supports", (2,), Fraction(1, 2)))


@pytest.mark.parametrize(
    ("one", "rows", "kind", "lists"),
    [
        (NUMBERS, "39,48,\n", pa.int64(), [[39, 48]]),
        (release_of(Itemset(("rye", "tea"))), "rye,tea,\n", pa.string(), [["rye", "tea"]]),
        (release_of(Itemset((39, "tea"))), "39,tea,\n", pa.string(), [["39", "tea"]]),
        (NUMBERED, "39,48,9\n39,41,7\n", pa.int64(), [[39, 48], [39, 41]]),
        (release_of(Itemset(None), mechanism="exponential"), ",,\n", pa.string(), [None]),
        (release_of(), "", pa.string(), []),
    ],
)
def test_csv_arrow_and_pandas(one: Release, rows: str, kind: Any, lists: list[Any]) -> None:
    assert one.to_csv() == "item_1,item_2,support\n" + rows
    table, named = one.to_arrow(), [each for each in one if each.items is not None]
    assert table.schema == pa.schema([("support", pa.int64()), ("itemsets", pa.list_(kind))])
    assert table["itemsets"].to_pylist() == lists
    assert table["support"].to_pylist() == [each.support for each in one]
    polars = one.to_polars()
    assert polars.to_dict(as_series=False) == table.to_pydict()
    for relative in (True, False):
        frame = one.to_pandas(relative=relative)
        assert list(frame.columns) == ["support", "itemsets"]
        assert frame["itemsets"].tolist() == [frozenset(each.items or ()) for each in named]
        assert str(frame["support"].dtype) == ("Float64" if relative else "Int64")


def test_supports_are_shares_where_the_number_of_units_is_known() -> None:
    itemsets = Itemset((39, 48), 250, (150, 350)), Itemset((3, 4), 60, (0, 160))
    counted = release_of(*itemsets, shares=SPLIT, units=1000)
    first, second = counted.itemsets
    assert (counted.share_of(first), counted.share_interval_of(first)) == (0.25, (0.15, 0.35))
    assert (counted.share_of(second), counted.share_interval_of(second)) == (0.06, (0.0, 0.16))
    values = counted.to_dict()
    assert values["units"] == 1000
    assert "units_interval" not in values
    ends: Any = {"interval": [150, 350], "share": 0.25, "share_interval": [0.15, 0.35]}
    assert values["itemsets"][0] == {"items": [39, 48], "support": 250, **ends}
    head, *rows = counted.to_csv().splitlines()
    assert head == "item_1,item_2,support,lower,upper,share"
    assert rows == ["39,48,250,150,350,0.25", "3,4,60,0,160,0.06"]
    assert counted.to_arrow()["share"].to_pylist() == [0.25, 0.06]


def test_without_polars_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(fim.MissingExtraError, match=r"^to_polars needs polars, .*pip install"):
        NUMBERS.to_polars()


def test_a_frame_has_relative_supports_and_counts() -> None:
    known = Itemset((39, 48), 250, (150, 350))
    counted = release_of(known, Itemset(None), shares=SPLIT, units=1000)
    frame = counted.to_pandas()
    kinds = {"support": "float64", "itemsets": "object", "count": "Int64"}
    kinds |= {"lower": "float64", "upper": "float64"}
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == kinds
    assert frame.iloc[0].tolist() == [0.25, frozenset({39, 48}), 250, 0.15, 0.35]
    nothing = release_of(shares=SPLIT, units=1000).to_pandas()
    assert len(nothing) == 0
    assert nothing.dtypes.equals(frame.dtypes)
    absolute = counted.to_pandas(relative=False)
    assert list(absolute.columns) == ["support", "itemsets", "lower", "upper"]
    assert absolute.iloc[0].tolist() == [250, frozenset({39, 48}), 150, 350]
    assert {str(absolute[name].dtype) for name in ("support", "lower", "upper")} == {"Int64"}


@pytest.mark.parametrize("itemsets", [(), (Itemset((39, 48), 250, (150, 350)),)])
def test_supports_that_are_no_shares_are_not_for_mlxtend(itemsets: tuple[Itemset, ...]) -> None:
    private = release_of(*itemsets, shares=SPLIT, neighbors="add-remove")
    with pytest.raises(ParameterError, match=r"^a support cannot be a share: the number") as error:
        private.to_pandas()
    ways = ("neighbors='replace-one'", "to_pandas(relative=False)")
    assert all(way in str(error.value) for way in ways)
    assert "\n" not in str(error.value)
    supports = private.to_pandas(relative=False)["support"].tolist()
    assert supports == [itemset.support for itemset in itemsets]


SHOP = [["milk", "tea"]] * 700 + [["bread", "milk"]] * 40 + [["jam"]]


def test_mine_with_the_defaults() -> None:
    release = fim.mine(SHOP * 9)
    assert release.to_dict().items() >= {"size": 2, "top": 10, "epsilon": 1, "delta": 1e-6}.items()
    assert (release.mechanism, release.has_supports) == ("levelwise", True)
    assert release[0].items == ("milk", "tea")
    assert release[0].interval is not None


def test_mine_of_one_itemset_without_its_support() -> None:
    today = datetime.date.today()
    result = fim.mine(SHOP, top=1, supports=False)
    assert result.date in (today, datetime.date.today())
    assert result == Release(
        mechanism="limited-domain",
        sizes=(2,),
        cost=PrivacyCost(1.0, 1e-6),
        neighbors="add-remove",
        privacy_unit="basket",
        private=True,
        abstained=False,
        itemsets=(Itemset(("milk", "tea"), None),),
        shares=(Step("selection", (2,), Fraction(1), Exact(1), Exact(1e-6)),),
        reason="for one itemset, it needs the smallest margin of all that need no product list",
        shortfall=13,
        date=result.date,
        version=fim.__version__,
    )


VISITS = pa.table(
    {
        # 700 customers who come twice, and one who comes 5,000 times, always for the same.
        "customer": [*range(700)] * 2 + [700] * 5000,
        "items": [["milk", "tea"]] * 1400 + [["jam", "rye"]] * 5000,
    }
)


def test_mine_with_customers_as_the_unit() -> None:
    assert fim.mine(VISITS, seed=1)[0].items == ("jam", "rye")
    result = fim.mine(VISITS, mechanism="large-margin", user="customer")
    assert result.itemsets == (Itemset(("milk", "tea")),)
    assert (result.privacy_unit, result.shortfall) == ("user", 74)
    assert "units" not in result.to_dict()
    assert fim.mine(VISITS, user="customer", neighbors="replace-one").units == 701


def test_the_form_of_a_release_does_not_depend_on_what_came_out() -> None:
    nothing = fim.mine([["tea", "jam"]] * 5, top=1, count=True, seed=1)
    assert nothing.abstained
    assert nothing.to_csv() == "item_1,item_2,support,lower,upper,share\n"
    assert nothing.to_arrow().column_names == ["support", "itemsets", "lower", "upper", "share"]
    assert list(nothing.to_pandas().columns) == ["support", "itemsets", "count", "lower", "upper"]
    absolute = nothing.to_pandas(relative=False)
    assert [*absolute.columns] == ["support", "itemsets", "lower", "upper"]
    assert nothing.to_dict()["noise"] is None
    without = fim.mine([["tea", "jam"]] * 5, top=1, seed=1)
    assert without.to_csv() == "item_1,item_2,support,lower,upper\n"
    assert without.to_arrow().column_names == ["support", "itemsets", "lower", "upper"]
    universe: dict[str, Any] = {"mechanism": "exponential", "universe_size": 10**6}
    unnamed = fim.mine([["tea", "jam"]] * 5, **universe, top=1, count=True, seed=1)
    assert (unnamed.abstained, unnamed.itemsets[0].items) == (False, None)
    assert unnamed.to_csv() == "item_1,item_2,support,lower,upper,share\n,,,,,\n"
    assert unnamed.to_dict()["noise"] is None


@pytest.mark.parametrize("options", [{}, {"user": "customer"}])
def test_what_was_read_once_gives_the_same_release(options: dict[str, Any]) -> None:
    read = fim.read_transactions(VISITS, **options)
    assert fim.read_transactions(read) is read
    assert fim.mine(read, size=1, seed=3) == fim.mine(VISITS, size=1, seed=3, **options)
    caps = {"max_baskets": 1} if options else {}
    how: dict[str, Any] = {"mechanism": "choosing", "max_basket": 2, "seed": 3, **caps}
    assert fim.mine(read, **how) == fim.mine(VISITS, **how, **options)
    with pytest.raises(ParameterError, match=r"^leave out user: these purchases have been read"):
        fim.mine(read, user="customer")


@pytest.mark.parametrize("baskets", [[], [[]], [["tea"]], [["milk", "tea"]] * 3])
def test_too_little_data_is_an_abstention(baskets: list[list[str]]) -> None:
    result = fim.mine(baskets)
    assert result.abstained
    assert result.itemsets == ()
    assert result.private


def test_a_seed_makes_it_repeatable_and_not_private() -> None:
    def mined(seed: int | None) -> Any:
        asked: Any = {"mechanism": "exponential", "catalogue": list("abcdefgh")}
        return fim.mine([["a", "b"], ["c"]], seed=seed, **asked)

    results = [mined(seed) for seed in range(40)]
    assert not any(result.private for result in results)
    assert [mined(seed) for seed in range(40)] == results
    assert len({result.itemsets for result in results}) > 10
    assert mined(None).private


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0}, r"^epsilon must be a number above 0, not 0$"),
        ({"delta": 1}, r"^delta must be 0 or a number above 0 and below 1, not 1$"),
        ({"delta": 0}, r"^delta must be above 0 without a public list of all items. Give"),
        ({"neighbors": "both"}, r"^neighbors must be one of replace-one, add-remove, not 'both'$"),
        ({"mechanism": "laplace"}, r"^mechanism must be one of auto, large-margin, .*, levelwise"),
        ({"mechanism": "exponential"}, r"needs a public item universe.*would not be private"),
        ({"mechanism": "exponential", "universe_size": 1}, r"^universe_size has 1 item.*size 2"),
        ({"catalogue": ["a", "b"], "universe_size": 2}, r"not both"),
        ({"missing_user": "drop"}, r"^missing_user needs user too"),
        ({"missing_user": "keep", "user": "u"}, r"^missing_user must be one of drop, own-unit"),
        ({"seed": "x"}, r"^seed must be a whole number, not 'x'$"),
    ],
)
def test_bad_parameters_are_refused_before_the_data_is_read(parameters: Any, message: str) -> None:
    def untouched() -> Iterator[list[str]]:
        pytest.fail("the data was read")
        yield []

    with pytest.raises(ParameterError, match=message):
        fim.mine(untouched(), **parameters)
    with pytest.raises(FimPrivateError, match=message) as caught:
        fim.mine("no such file.parquet", **parameters)
    assert "\n" not in str(caught.value)


def test_no_printed_guarantee_is_rounded_down() -> None:
    """Whoever reads ε = 1 must not have spent 1.0000004."""
    release = fim.mine([["a", "b"]], epsilon=1.0000004, delta=Fraction(1, 3_000_000))
    text = render_table(release, Screen())
    assert "ε = 1.0000004, δ = 3.34e-07" in text
    assert "a factor e^1.0000004 = 2.72, up to an added probability of 3.34e-07" in text
    assert release.to_dict()["epsilon"] == 1.0000004
    assert Fraction(repr(release.to_dict()["delta"])) >= Fraction(1, 3_000_000)
    assert release.cost.delta == Fraction(1, 3_000_000)
    below_three = render_table(fim.mine([["a", "b"]], epsilon=1.1), Screen())
    assert "e^1.1 = 3.01" in below_three  # 3.00417


def test_the_parts_of_a_budget_are_exact() -> None:
    asked: dict[str, Any] = {"mechanism": "large-margin", "size": "2-4", "supports": True}
    asked |= {"epsilon": Fraction(1, 7)}
    shares = fim.mine([["a", "b"]], **asked, delta=Fraction(1, 7**8)).shares
    assert sum(share.epsilon or 0 for share in shares) == Fraction(1, 7)
    assert sum(share.fraction for share in shares) == 1
    text = render_table(fim.mine([["a", "b", "c", "d"]] * 50_000, **asked), Screen())
    assert "supports: ε = 0.0477," in text


def test_people_read_three_digits_and_what_they_gave() -> None:
    """What is promised is rounded up, what is left is rounded down."""
    given = ("1", "0.25", "1.125", "1e-06", "1.0000004")
    words = [(least_in_words(Fraction(one)), most_in_words(Fraction(one))) for one in given]
    assert words == [(n, n) for n in given]
    for computed, up, down in (
        ("0.055461123456", "0.0555", "0.0554"),
        ("0.210876627347", "0.211", "0.21"),
        ("0.700205104602", "0.701", "0.7"),
        ("12345.678901234", "1.24e+04", "1.23e+04"),
    ):
        assert (least_in_words(Fraction(computed)), most_in_words(Fraction(computed))) == (up, down)
    assert one_in_words(Fraction(1, 10**6)) == "one in 1,000,000"
    assert one_in_words(Fraction(606, 10**8)) == "one in 165,000"  # 1 / 165,016.5
    assert one_in_words(Fraction(1, 3)) == "one in 3"
    release = fim.mine([["a", "b"]] * 900, rho=0.0125, delta=1e-6, top=1, mechanism="distance")
    text = re.sub(r"(?s)<(style|script)>.*?</\1>", "", page(release))
    text += render_table(release, Screen())
    assert len(repr(release.to_dict()["epsilon"])) > 8
    assert f"ε = {least_in_words(release.cost.epsilon)}, δ" in text
    assert not re.findall(r"\d\.0*[1-9]\d{3}", text)


PAIR = Itemset((39, 48))
BY, RANGE = "as picked by large-margin", "most frequent itemsets of {} to {} items"


@pytest.mark.parametrize(
    ("asked", "found", "title"),
    [
        ({"sizes": (2,)}, 1, f"The most frequent pair, {BY}"),
        ({"top": 1500}, 1200, f"1,200 of the 1,500 most frequent pairs, {BY}"),
        (
            {"sizes": (2, 3), "top": 5},
            1,
            f"1 of the 10 {RANGE.format(2, 3)} (5 of each size), {BY}",
        ),
        ({"sizes": (1, 2), "top": 5, "union": True}, 5, f"The 5 {RANGE.format(1, 2)}, {BY}"),
        ({"top": 9, "noise": NOISE}, 2, "2 of the 9 most frequent pairs, by noisy support"),
        (
            {"mechanism": "count", "top": 2, "noise": NOISE},
            2,
            "The supports of the 2 itemsets given",
        ),
        ({"mechanism": "count", "noise": NOISE}, 1, "The support of the itemset given"),
        ({}, 0, "No pair was released: the mechanism abstained."),
    ],
)
def test_the_title_says_what_was_found(asked: Any, found: int, title: str) -> None:
    one = release_of(*[PAIR] * found, **asked)
    assert one.title == title
    assert render_table(one, Screen()).splitlines()[0] == title
    assert str(one).splitlines()[0] == title
    assert repr(one).splitlines()[0] == f"Release: {title}"
