"""`size="auto:2-4"`: which size is chosen, with what probability, what that costs, and how a release says so.

The law of the choice, and of whole releases, is held to ε on all neighbours of 3 items and at most 3 baskets, what is
drawn to the same law, and that law to one that is counted literally. Whatever is broken on purpose must fail.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import oracles
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from real_data import CORNER_SHOP
from small_data import ITEMS, Database, column, databases, neighbouring, supports_of
from sources import SOURCES, writers
from typer.testing import CliRunner

import fim_private as fim
from fim_private.counting.source import UNKNOWN, LocalSource, Universe
from fim_private.dp.noise import Randomness
from fim_private.errors import DataError, LedgerError, ParameterError
from fim_private.mechanisms import Exponential
from fim_private.mechanisms.top_k import TopK
from fim_private.mining import mine as size_choice
from fim_private.mining.mine import PART, SizeChoice, job_of, request_of, size_scores
from fim_private.output import Screen, render_table
from fim_private.reading.purchases import read_transactions
from fim_private.request.budget import allocate
from fim_private.request.request import parse_sizes, sizes_to_choose_from
from fim_private.spectrum import SupportSpectrum

NEIGHBORS: list[oracles.Neighbors] = ["add-remove", "replace-one"]
SIZES = (1, 2, 3)
ROUNDING = 1e-9
# Pairs stand out, triples do not.
SHOP = [["bread", "milk", "tea"]] * 40 + [["bread", "milk"]] * 400 + [["tea"]] * 100 + [["jam", "rye"]] * 50
ASKED: dict[str, Any] = {
    "by": None,
    "epsilon": 20,
    "delta": 1e-6,
    "rho": None,
    "mechanism": "exponential",
    "neighbors": "add-remove",
    "top": None,
    "min_support": None,
    "union": False,
    "supports": False,
    "supports_share": None,
    "keep_all": False,
    "count": False,
    "max_rank": None,
    "max_basket": None,
    "max_baskets": None,
    "catalogue": ITEMS,
    "universe_size": None,
    "by_user": False,
}


def choice_of(size: str = "auto:1-3", needs: Sequence[int] | None = None, seed: int = 1, **asked: Any) -> SizeChoice:
    """What `mine` does; needs: in place of those that follow, so that small data leave the size open."""
    made = job_of(request_of(size=size, **(ASKED | asked)), Randomness.seeded(seed))
    assert isinstance(made, SizeChoice)
    return made if needs is None else replace(made, needs=tuple(needs))


@dataclass(frozen=True)
class Counted(LocalSource):
    """A source that counts once."""

    counted: dict[tuple[int, ...], SupportSpectrum] = field(default_factory=dict)

    def spectrum(self, size: int | Sequence[int], universe: Universe = UNKNOWN) -> SupportSpectrum:
        sizes = (size,) if isinstance(size, int) else tuple(size)
        return self.counted.setdefault(sizes, self.counted.get(sizes) or super().spectrum(size, universe))


@cache
def source_of(database: Database) -> LocalSource:
    """Baskets, in whatever order."""
    return Counted(read_transactions([list(basket) for basket in database]))


def users_of(database: Sequence[Sequence[tuple[str, ...]]]) -> LocalSource:
    """Users, each a list of baskets."""
    rows = [(user, list(basket)) for user, baskets in enumerate(database) for basket in baskets]
    columns = {"user": pa.array([user for user, _ in rows], pa.int64())}
    lists = pa.array([basket for _, basket in rows], pa.list_(pa.string()))
    return LocalSource(read_transactions(pa.table({**columns, "items": lists}), user="user"))


def weighed(scores: Sequence[float], rate: float) -> list[float]:
    weights = [math.exp(rate * (score - max(scores))) for score in scores]
    return [weight / math.fsum(weights) for weight in weights]


def law(choice: SizeChoice, source: LocalSource) -> dict[int, float]:
    """Which size is chosen, as the package says it."""
    chances = weighed(size_choice.size_scores(choice.margins(source)), float(choice.mechanism.rate))
    return dict(zip(choice.options.sizes, chances, strict=True))


def literal_law(database: Database, needs: Sequence[int], epsilon: float, top: int = 1) -> dict[int, float]:
    """The same, of supports counted one by one, and of the formula of Theorem 27; epsilon: of the choice."""
    margins = []
    for size, need in zip(SIZES, needs, strict=True):
        supports = sorted((s for i, s in supports_of(column(database)).items() if len(i) == size), reverse=True)
        margins.append((supports[top - 1] if len(supports) >= top else 0) - need - math.ceil(1 / epsilon))
    _, second, third = margins
    scores = [-second, min(second, -third), third]
    return dict(zip(SIZES, weighed(scores, epsilon / 2), strict=True))


def furthest(laws: Callable[[Database], dict[Any, float]], neighbors: oracles.Neighbors) -> float:
    """The largest change of a probability between neighbours, as a logarithm."""
    known: dict[Database, dict[Any, float]] = {}

    def of(database: Database) -> dict[Any, float]:
        alike: Database = tuple(sorted(database))
        if alike not in known:
            known[alike] = laws(alike)
        return known[alike]

    def changes() -> Iterator[float]:
        for one, other in neighbouring(neighbors):
            before, after = of(one), of(other)
            assert before.keys() == after.keys()
            yield from (abs(math.log(after[outcome] / before[outcome])) for outcome in before)

    return max(changes())


# ------------------------------------------------------------------------------------------------ what is asked


def test_sizes_to_choose_from() -> None:
    assert sizes_to_choose_from("auto:2-4") == (2, 3, 4)
    assert [sizes_to_choose_from(named) for named in (2, "2-4", range(2, 5), "2")] == [None] * 4


@pytest.mark.parametrize(
    "size", ["auto:", "auto:2", "auto:4-2", "auto:0-2", "auto:2,3", "auto:2-99", "auto:a-b", "auto"]
)
def test_what_is_no_range_to_choose_from_is_refused(size: str) -> None:
    with pytest.raises(ParameterError) as told:
        fim.mine("no such file", size=size)
    assert str(told.value) == (
        f"size must have several sizes to choose from, at most 64 and each at least 1, such as auto:2-4, not {size!r}"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"union": True}, "union does not go with a size that is chosen"),
        ({"min_support": "2%"}, "min_support does not go with a size that is chosen"),
        ({"by": "shop", "segments": "A,B"}, "by does not go with a size that is chosen"),
        ({"epsilon": 5e-9}, "epsilon leaves next to nothing to choose size with"),
        ({"rho": 1e-18}, "rho leaves next to nothing to choose size with"),
        ({"catalogue": ["a", "b", "c"]}, "too few for an itemset of size 4"),
        ({"top": 2}, "levelwise finds more if size is 2-4"),
        ({"catalogue": list("abcdef"), "top": 2}, "levelwise finds more"),
        ({"mechanism": "levelwise"}, "levelwise finds more"),
        ({"mechanism": "nonsense"}, "mechanism"),
        ({"max_basket": 3, "mechanism": "choosing"}, "max_basket"),
        ({"rules": True, "size": "auto:1-2"}, "rules"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_refused_before_anything_is_read(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message) as told:
        fim.mine("no such file", **({"size": "auto:2-4"} | options))
    assert "\n" not in str(told.value)
    with pytest.raises(DataError):
        fim.mine("no such file", size="auto:2-4")


def test_where_no_support_is_known_to_be_enough_nothing_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_choice, "needed_support", lambda _: None)
    with pytest.raises(ParameterError, match="size cannot be chosen"):
        fim.mine("no such file", size="auto:2-4")


def test_a_plan_reads_no_data_and_says_so() -> None:
    with pytest.raises(ParameterError, match="chosen on the data"):
        fim.plan(size="auto:2-4")
    with pytest.raises(ParameterError, match="chosen on the data"):
        parse_sizes("auto:2-4")


# ------------------------------------------------------------------------------------------------ which is chosen


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=6), st.data())
def test_a_score_moves_no_further_than_a_margin(margins: list[int], data: Any) -> None:
    moved = [margin + data.draw(st.integers(-1, 1)) for margin in margins]
    for one, other in zip(size_scores(margins), size_scores(moved), strict=True):
        assert abs(one - other) <= 1


@given(st.sets(st.integers(-50, 50).filter(bool), min_size=2, max_size=6))
def test_the_highest_score_is_that_of_the_largest_size_that_will_do(margins: set[int]) -> None:
    falling = sorted(margins, reverse=True)
    wanted = max((place for place, margin in enumerate(falling) if margin > 0), default=0)
    scores = size_scores(falling)
    assert [place for place, score in enumerate(scores) if score > 0] == [wanted]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_a_unit_moves_each_margin_by_one(neighbors: oracles.Neighbors) -> None:
    choice = choice_of(neighbors=neighbors, top=2)
    assert choice.options.top == 2
    for one, other in neighbouring(neighbors):
        sides = (choice.margins(source_of(tuple(sorted(side)))) for side in (one, other))
        assert all(abs(before - after) <= 1 for before, after in zip(*sides, strict=True))


def test_the_largest_size_of_which_as_many_as_wanted_come_out_is_chosen() -> None:
    picks: dict[str, Any] = {"size": "auto:1-4", "mechanism": "limited-domain", "epsilon": 3}
    sizes = [Counter(fim.mine(SHOP, **picks, top=top, seed=seed).size for seed in range(12)) for top in (1, 5)]
    assert sizes[0][3] >= 10
    assert sizes[1][1] >= 10  # there are no five pairs
    rare = Counter(fim.mine(SHOP[:5], size="auto:2-4", seed=seed).size for seed in range(12))
    assert rare[2] >= 10  # none comes out: then the least is asked for


@pytest.mark.parametrize("top", [1, 2])
def test_the_law_is_the_one_that_is_written(top: int) -> None:
    needs = (2, 1, 1)
    choice = choice_of(needs=needs, top=top)
    for database in databases():
        written = literal_law(database, needs, 2.0, top)
        assert law(choice, source_of(database)) == pytest.approx(written, abs=1e-12)


def test_sizes_are_drawn_by_that_law() -> None:
    database: Database = (("a", "b"), ("a", "b", "c"), ("a",))
    needs, draws = (1, 0, 1), 2_500
    right = literal_law(database, needs, 2.0)
    choice = choice_of(needs=needs)
    margins = choice.margins(source_of(database))
    counts = Counter(choice.chosen(margins).options.sizes[0] for _ in range(draws))
    assert oracles.chi_square_pvalue(counts, right, draws) > 1e-6
    # An ε₀ that is off by 30 % would be noticed.
    chances = [chance**1.3 for chance in right.values()]
    wrong = {size: chance / math.fsum(chances) for size, chance in zip(SIZES, chances, strict=True)}
    assert oracles.detects(right, wrong, draws) > 0.999
    assert oracles.chi_square_pvalue(counts, wrong, draws) < 1e-6


# ------------------------------------------------------------------------------------------------ what it costs


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("needs", [(1, 1, 1), (4, 3, 2)], ids=str)
def test_the_choice_is_private(neighbors: oracles.Neighbors, needs: tuple[int, ...]) -> None:
    """ε₀ = 2 on all neighbours, and nearly as much is reached."""
    choice = choice_of(needs=needs, neighbors=neighbors)
    assert choice.mechanism.epsilon == Fraction(2)
    changed = furthest(lambda database: law(choice, source_of(database)), neighbors)
    assert 1.8 < changed <= 2 + ROUNDING


def test_the_constants_of_add_remove_are_caught() -> None:
    """One size more is likelier, another less: supports move one way, scores in both."""
    choice = replace(choice_of(needs=(4, 3, 2)), mechanism=Exponential(Fraction(2), "add-remove"))
    assert furthest(lambda database: law(choice, source_of(database)), "add-remove") > 3


def test_scores_of_more_than_a_unit_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    choice = choice_of(needs=(4, 3, 2))
    monkeypatch.setattr(size_choice, "size_scores", lambda margins: [2 * score for score in size_scores(margins)])
    assert furthest(lambda database: law(choice, source_of(database)), "add-remove") > 3


def test_of_users_each_counts_once_and_counting_baskets_is_caught() -> None:
    choice = choice_of(needs=(4, 3, 2), by_user=True)
    rest: list[list[tuple[str, ...]]] = [[("a", "b")], [("a", "c"), ("b",)]]
    more: list[tuple[str, ...]] = [("a", "b", "c"), ("a", "b")]
    ratios = {}
    for by_user in (True, False):
        sides = []
        for users in (rest, [*rest, more]):
            baskets = tuple(basket for own in users for basket in own)
            sides.append(law(choice, users_of(users) if by_user else source_of(baskets)))
        ratios[by_user] = max(abs(math.log(sides[0][size] / sides[1][size])) for size in SIZES)
    assert ratios[True] <= 2 + ROUNDING
    assert ratios[False] > 2


def release_law(choice: SizeChoice, database: Database) -> dict[tuple[int, Any], float]:
    """Which size, and which itemset of it, where the exponential mechanism picks among all that are listed."""
    found: dict[tuple[int, Any], float] = {}
    values = supports_of(column(database))
    for (size, chance), job in zip(law(choice, source_of(database)).items(), choice.jobs, strict=True):
        run = allocate(job.options).selections[0].run
        assert isinstance(run, TopK)
        assert isinstance(run.mechanism, Exponential)
        candidates = [itemset for itemset in values if len(itemset) == size]
        picks = weighed([values[itemset] for itemset in candidates], float(run.mechanism.rate))
        found |= {(size, itemset): chance * pick for itemset, pick in zip(candidates, picks, strict=True)}
    return found


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_whole_releases_are_private(neighbors: oracles.Neighbors) -> None:
    choice = choice_of(needs=(4, 3, 2), neighbors=neighbors)
    changed = furthest(lambda database: release_law(choice, database), neighbors)
    assert changed <= float(choice.cost.epsilon) + ROUNDING == 20 + ROUNDING


def new_pair(choice: SizeChoice, items: int) -> float:
    """By how much it is likelier that {a, b} is released once somebody has it: a logarithm."""
    job = choice.jobs[1]
    run = allocate(job.options).selections[0].run
    assert isinstance(run, TopK)
    sides = []
    for data, supports in ((((),), [0]), ((("a", "b"),), [1])):
        picked = weighed(supports + [0] * (math.comb(items, 2) - 1), float(run.mechanism.rate))[0]  # type: ignore[attr-defined]
        sides.append(law(choice, source_of(data))[2] * picked)
    return math.log(sides[1] / sides[0])


def test_a_choice_that_is_not_charged_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both steps can say that somebody is there: together ε, nearly; more if the itemset had all of it."""
    wide: dict[str, Any] = {"catalogue": [*"ab", *map(str, range(58))], "size": "auto:1-2", "epsilon": 2}
    assert 0.98 * 2 < new_pair(choice_of(**wide), 60) <= 2
    monkeypatch.setattr(size_choice, "_with_what_is_left", lambda options: options)
    assert new_pair(choice_of(**wide), 60) > 2


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"top": 3, "supports": True, "mechanism": "limited-domain"},
        {"count": True},
        {"neighbors": "replace-one"},
        {"catalogue": ["bread", "milk", "tea", "jam", "rye"], "delta": 0},
        {"catalogue": ["bread", "milk", "tea", "jam", "rye"]},
        {"mechanism": "large-margin"},
        {"max_basket": 4},
        {"rules": True, "size": "auto:2-3"},
    ],
    ids=str,
)
def test_the_parts_are_the_whole(options: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"size": "auto:1-3", "epsilon": Fraction(7, 10)} | options
    release = fim.mine(SHOP, seed=1, **asked)
    choosing, *rest = release.shares
    assert (choosing.purpose, choosing.sizes, choosing.fraction) == ("size", release.chosen_from, PART)
    assert (choosing.epsilon, choosing.delta) == (Fraction(7, 100), 0)
    assert release.cost.epsilon == Fraction(7, 10)
    assert sum(share.fraction for share in release.shares) == 1
    named = fim.mine(SHOP, seed=1, **(options | {"size": release.size, "epsilon": Fraction(63, 100)}))
    # What is done then is what is done where the size is named, with nine tenths of ε.
    assert [replace(share, fraction=share.fraction * (1 - PART)) for share in named.shares] == rest
    assert (named.mechanism, named.reason, named.sizes) == (release.mechanism, release.reason, release.sizes)


@pytest.mark.parametrize(
    "options", [{}, {"top": 3, "mechanism": "limited-domain", "supports": True}, {"mechanism": "large-margin"}], ids=str
)
def test_a_budget_in_zero_concentrated_privacy(options: dict[str, Any]) -> None:
    release = fim.mine(SHOP, size="auto:1-3", rho=0.05, seed=1, **options)
    assert release.zcdp is not None
    assert release.zcdp.rho == Fraction(5, 100)
    assert sum(share.rho or (share.mu_squared or 0) / 2 for share in release.shares) == Fraction(5, 100)
    bare = fim.mine(SHOP, size=release.size, rho=0.05, seed=1, **options)
    assert release.cost.epsilon >= bare.cost.epsilon * Fraction(99, 100)
    made = choice_of(rho=0.05, epsilon=None, mechanism="auto", catalogue=None)
    chosen = Fraction(made.mechanism.cost.epsilon)
    assert Fraction(999, 1000) * Fraction(5, 1000) < chosen**2 / 8 <= Fraction(5, 1000)


def test_a_ledger_is_told(tmp_path: Path) -> None:
    with fim.Ledger.create(tmp_path / "one.ledger", epsilon=2, delta=1e-5, dataset="shop", unit="basket") as ledger:
        release = fim.mine(SHOP, size="auto:2-4", epsilon=1, ledger=ledger, dataset="shop")
        assert release.chosen_from == (2, 3, 4)
        assert ledger.left.epsilon == 1
        assert ledger.left.delta == Fraction(9, 10**6)
        [entry] = ledger.entries[-1:]
        assert entry.parameters["size"] == "auto:2-4"
        with pytest.raises(LedgerError):
            fim.mine(SHOP, size="auto:2-4", epsilon=1.01, ledger=ledger, dataset="shop")


# ------------------------------------------------------------------------------------------------ what is said


def shown(release: fim.Release) -> str:
    """The table, its lines not wrapped."""
    return " ".join(render_table(release, Screen()).split())


def test_a_release_says_so_in_every_form(tmp_path: Path) -> None:
    release = fim.mine(SHOP, size="auto:1-3", top=1, seed=1)
    said = "The size 3 was chosen privately of 1 to 3, for 10 % of the budget: by lot, most likely the largest at which"
    assert release.size == 3
    for form in (str(release), release.to_markdown(), shown(release)):
        assert said in form, form
    assert "choosing the size: ε = 0.1, δ = 0; selection of size 3: ε = 0.9" in shown(release)
    assert json.loads(release.to_json())["chosen_from"] == [1, 2, 3]
    fim.report(release, tmp_path / "page.html")
    assert "10.0 % for choosing the size" in (tmp_path / "page.html").read_text(encoding="utf-8")
    for ending in ("json", "parquet"):
        release.save(tmp_path / f"release.{ending}")
        assert fim.load(tmp_path / f"release.{ending}").to_dict() == release.to_dict()
        assert said in str(fim.load(tmp_path / f"release.{ending}"))
    named = fim.mine(SHOP, size=2, seed=1)
    assert "chosen" not in str(named)
    assert "chosen_from" not in named.to_dict()
    many = fim.mine(SHOP, size="auto:1-2", top=40, epsilon=2.0, mechanism="limited-domain", seed=1)
    assert "privacy in all but for ε = 0.2 for choosing the size" in shown(many)


def test_advice_names_the_size_which_costs_nothing() -> None:
    release = fim.mine(SHOP[:60], size="auto:2-4", epsilon=0.2, seed=1)
    assert not release
    assert release.advice is not None
    assert "size" in release.advice.changes
    assert "size=" in release.advice.call


def test_a_catalogue_is_read_once() -> None:
    listed = iter(["bread", "milk", "tea", "jam", "rye"])
    assert fim.mine(SHOP, size="auto:1-3", catalogue=listed, seed=1).chosen_from == (1, 2, 3)


# ------------------------------------------------------------------------------------------------ from any source


@pytest.mark.parametrize("form", writers(["bread"]))
def test_every_source_gives_the_same(form: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    labels = ["bread", "jam", "milk", "rye", "tea"]
    baskets = [[label for label in labels if generator.random() < 0.45] or ["tea"] for _ in range(200)]
    data, how = SOURCES[form](baskets, tmp_path)
    read = read_transactions(data, **how)  # once: some can be read only once
    expected = [fim.mine(baskets, size="auto:1-3", seed=seed, epsilon=1.3) for seed in range(6)]
    assert len({release.size for release in expected}) > 1
    for seed, release in enumerate(expected):
        found = fim.mine(read, size="auto:1-3", seed=seed, epsilon=1.3)
        assert (found.size, found.itemsets, found.chosen_from) == (release.size, release.itemsets, release.chosen_from)


def test_of_users_the_choice_counts_users() -> None:
    visits = pa.table({"customer": [*range(300)] * 2, "items": [["bread", "milk"]] * 600})
    release = fim.mine(visits, user="customer", size="auto:1-2", seed=1)
    assert (release.privacy_unit, release.units, release.size) == ("user", None, 2)
    assert (
        Counter(fim.mine(visits.slice(0, 30), user="customer", size="auto:1-2", seed=s).size for s in range(9))[1] > 6
    )


def test_the_command_gives_what_the_library_gives() -> None:
    from fim_private.cli.app import app

    asked = ["mine", str(CORNER_SHOP), "--user", "customer", "--size", "auto:2-5", "--seed", "1", "--format", "json"]
    found = json.loads(CliRunner().invoke(app, asked).stdout)
    assert found["chosen_from"] == [2, 3, 4, 5]
    assert found == json.loads(fim.mine(CORNER_SHOP, user="customer", size="auto:2-5", seed=1).to_json())
    wrong = CliRunner().invoke(app, ["mine", str(CORNER_SHOP), "--size", "auto:3"])
    assert isinstance(wrong.exception, ParameterError)
    assert str(wrong.exception).endswith("such as auto:2-4, not 'auto:3'")
