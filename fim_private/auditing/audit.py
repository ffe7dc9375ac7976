"""The exact audit: how much of its guarantee a mechanism uses on hard neighbouring data.

The tight δ at ε of two neighbours is the hockey-stick divergence Σ max(0, P(o) - e^ε P'(o)) over
outcomes o, in both directions. It is good to thirty digits, so that pure privacy is compared with
0, not with rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import count
from typing import Any

from fim_private import options
from fim_private.auditing import exact
from fim_private.auditing.exact import (
    NAMES,
    NUMERICAL_ERROR,
    Counts,
    Outcomes,
    OutputDistribution,
    Pair,
    Setting,
)
from fim_private.dp.arguments import whole_number
from fim_private.dp.bounds import least_integer
from fim_private.dp.cost import Exact
from fim_private.dp.neighbors import Neighbors
from fim_private.dp.parameters import exact_delta_or_zero, exact_epsilon
from fim_private.errors import ParameterError, parameter, shown
from fim_private.mechanisms import LargeMargin, Mechanism, TightMargin, registry
from fim_private.mechanisms.base import PublicParameters
from fim_private.mechanisms.registry import BasketCap, RankCap, UniverseNeed, spec_of
from fim_private.spectrum import SupportSpectrum

# An audit can prove that a guarantee is broken, never that it holds: that is what the theorems of
# docs/privacy.md are for. A mechanism of stages has slack that would hide a broken one, so each
# stage has also a guarantee of its own.

# The least delta audited: the numerical error is a millionth of it.
LEAST_DELTA = 1e-24
# The largest epsilon audited: of sixty digits, multiplication by e^ε must leave thirty.
LARGEST_EPSILON = 50
_LARGEST_SCALE = 1 << 40
_MOST_TRIALS = 1_000_000
# These replace the rank caps, and the limits on the itemsets of one unit: the theorems hold for
# every cap, and small ones are crossed by few itemsets. That of limited-domain is below its largest
# cap, where it makes abstaining lighter.
CAPS = (1, 3)
MOST_NEW, _FEW_NEW = 4, 2


_NONE = Fraction(0)
_UNCAPPED = 2  # so many settings come first that differ in their universe alone


@dataclass(frozen=True)
class Guarantee:
    """A guarantee (epsilon, delta) of a mechanism, or of one of its stages, in some setting.

    Attributes:
        name: The mechanism as a whole, or the stage.
        setting: The universe and the rank cap, in words.
        epsilon: The ε that is promised.
        delta: The δ that is promised.
        spent: Returns how much δ two neighbours use at that ε, from the first to the second.
        pairs: The neighbours to try. None stands for all of the audit.
    """

    name: str
    setting: str
    epsilon: Fraction
    delta: Fraction
    spent: Callable[[Counts, Counts], Decimal]
    pairs: Sequence[Pair] | None = None


def settings(mechanism: Any) -> list[Setting]:
    """Return every setting that the mechanism allows, with small caps."""
    spec = spec_of(mechanism)
    universes: list[tuple[int | None, str]] = []
    if spec.universe is not UniverseNeed.LISTED:
        universes.append((None, "unknown universe"))
    if spec.universe is not UniverseNeed.COUNTED:
        universes.append((len(NAMES), "known universe"))
    max_itemsets = getattr(mechanism, "max_itemsets", None)
    if spec.universe is UniverseNeed.COUNTED:
        mechanism = replace(mechanism, universe_size=MOST_NEW)
    elif max_itemsets is not None:
        most = MOST_NEW
        if spec.basket_cap is not BasketCap.NEEDED:
            most = min(max_itemsets, _FEW_NEW)
        mechanism = replace(mechanism, max_itemsets=most)
    if spec.rank_cap is RankCap.NONE:
        return [Setting(mechanism, universe, words) for universe, words in universes]
    capped = []
    for cap in CAPS:
        for universe, words in universes:
            # A known universe is searched to its end, whatever the cap: once is enough.
            searched_whole = spec.rank_cap is RankCap.SEARCH and universe is not None
            if cap == CAPS[0] or not searched_whole:
                subject = replace(mechanism, max_rank=cap)
                capped.append(Setting(subject, universe, f"{words}, max_rank {cap}"))
    return capped


def most_new(mechanism: Mechanism) -> int | None:
    """Return how many itemsets one unit may support in an audit; None stands for no limit."""
    spec = spec_of(mechanism)
    if spec.universe is UniverseNeed.COUNTED or spec.basket_cap is BasketCap.NEEDED:
        return MOST_NEW
    return None


def guarantees_of(mechanism: Mechanism) -> list[list[Guarantee]]:
    """Return the guarantees in every setting: a list for the whole, then one for each stage."""
    everywhere, cost = settings(mechanism), mechanism.cost
    whole = []
    for setting in everywhere:
        released = _private("whole", setting.words, cost.epsilon, cost.delta, setting.itemsets)
        whole.append(_possible(setting.mechanism, released))
    guarantees = [whole]
    theorem = vars(type(mechanism)).get("bounded_range")  # none is inherited
    if theorem:
        guarantees.append(_bounded_ranges(theorem, cost.epsilon, everywhere))
    if isinstance(mechanism, TightMargin):
        return guarantees + _stages_of_tight_margin(mechanism, everywhere)
    if isinstance(mechanism, LargeMargin):
        return guarantees + _stages_of_large_margin(mechanism, everywhere)
    return guarantees


def _bounded_ranges(
    theorem: str, epsilon: Fraction, everywhere: Sequence[Setting]
) -> list[Guarantee]:
    """Return the bounded range that the theorem promises, in every setting."""
    name, guarantees = f"bounded range ({theorem})", []
    for setting in everywhere:
        excess = exact.excess_range(setting, epsilon)
        guarantee = Guarantee(name, setting.words, epsilon, _NONE, excess)
        guarantees.append(_possible(setting.mechanism, guarantee))
    return guarantees


def _stages_of_tight_margin(
    mechanism: TightMargin, everywhere: Sequence[Setting]
) -> list[list[Guarantee]]:
    """Return the guarantees of its rank search, and of its choice at a rank."""
    search_share = mechanism.shared_share + mechanism.step_share
    epsilon, delta = mechanism.selection_epsilon, mechanism.cost.delta
    choices = []
    for cap in CAPS:
        for setting in everywhere[:_UNCAPPED]:
            choice = replace(setting, mechanism=mechanism.choice(cap))
            name = f"choice at rank {cap}"
            choices.append(_private(name, setting.words, epsilon, delta, choice.itemsets))
    return [_searches(mechanism, everywhere, mechanism.cost.epsilon * search_share), choices]


def _stages_of_large_margin(
    mechanism: LargeMargin, everywhere: Sequence[Setting]
) -> list[list[Guarantee]]:
    """Return the steps of Theorems 1 to 3 (docs/privacy.md), each with its share of the whole."""
    epsilon, delta = mechanism.cost.epsilon, mechanism.cost.delta
    third = epsilon / 3
    replaced = Neighbors(mechanism.neighbors) is Neighbors.REPLACE_ONE
    search_epsilon = epsilon / 2 if replaced else epsilon / 4
    naming_epsilon = epsilon / 3 if replaced else epsilon / 6
    tails = exact.step_tails(mechanism, 8)
    maximum = Guarantee("noisy maximum", "", third, _NONE, exact.noisy_maximum(mechanism, third))
    noise = Guarantee(
        "noise of the steps", "ranks 1 to 8", _NONE, delta / 6, lambda first, second: tails
    )
    margins = [
        Guarantee("margin", setting.words, _NONE, 2 * delta / 3, exact.bad_stop(setting))
        for setting in everywhere
    ]
    draws = []
    for setting in everywhere[:_UNCAPPED]:
        for rank in (1, 2, 3):
            drawn = exact.good_draw(mechanism, setting.universe, rank, third)
            draws.append(Guarantee(f"draw at rank {rank}", setting.words, third, delta / 3, drawn))
    return [
        [maximum],
        _searches(mechanism, everywhere, search_epsilon),
        [noise],
        margins,
        [*draws, _hard_draw(mechanism, third, delta / 3)],
        [_named_draw(mechanism, naming_epsilon)],
    ]


def _searches(
    mechanism: LargeMargin | TightMargin, everywhere: Sequence[Setting], epsilon: Fraction
) -> list[Guarantee]:
    """Return the guarantee of the rank search in every setting, and where it is used up."""
    guarantees = []
    for setting in everywhere:
        ranks = exact.stopping_rank(setting)
        guarantees.append(_private("rank search", setting.words, epsilon, _NONE, ranks))
    return [*guarantees, _hard_search(mechanism, epsilon)]


def _hard_search(mechanism: LargeMargin | TightMargin, epsilon: Fraction) -> Guarantee:
    """Return the guarantee of the search where it is used up: on steps that stop, but the last.

    It holds for any thresholds. Here they are 0 up to rank 4, which ought to stop, and then high.
    At the last rank all noise lies to one side.
    """
    unit = math.ceil(30 / exact_epsilon(mechanism.cost.epsilon))
    replaced = Neighbors(mechanism.neighbors) is Neighbors.REPLACE_ONE

    def threshold(rank: int) -> int:
        return 0 if rank < 5 else 2 * unit

    def distribution(counts: Counts) -> Outcomes:
        search = mechanism.search(SupportSpectrum.from_supports(counts.values()))
        return exact.ranks(replace(search, threshold=threshold, last_rank=5))

    lacking = 2 if replaced else 1
    before = dict.fromkeys(NAMES[:6], 6 * unit) | {"a": 7 * unit, "f": 6 * unit - lacking}
    after = _changed(mechanism, before, "af", "bcde")
    hard = _private("rank search", "thresholds for the worst", epsilon, _NONE, distribution)
    return replace(hard, pairs=[(before, after)])


def _hard_draw(mechanism: LargeMargin, epsilon: Fraction, delta: Fraction) -> Guarantee:
    """Return the guarantee of the draw where it is used up: one itemset rises, no other does."""
    support = math.ceil(2 * exact.margin_certified(mechanism, len(NAMES)))
    before = dict.fromkeys(NAMES, support) | {"a": support - 1}
    after = _changed(mechanism, before, "a", NAMES[1:])
    spent = exact.good_draw(mechanism, None, len(NAMES), epsilon)
    return Guarantee(
        f"draw at rank {len(NAMES)}", "unknown universe", epsilon, delta, spent, [(before, after)]
    )


def _named_draw(mechanism: LargeMargin, epsilon: Fraction) -> Guarantee:
    """Return the guarantee of drawing an itemset that both data name: (ε/3, 0), by Theorem 3.

    That needs the zeros, whose weight in the sum limits what new itemsets change. Under add-remove
    it is (ε/6, 0).
    """
    support = math.ceil(12 / exact_epsilon(mechanism.epsilon))
    mostly_new = dict.fromkeys(NAMES, 0) | {"a": support, "b": 2}
    all_high = dict.fromkeys(NAMES, support)
    not_b = [name for name in NAMES if name != "b"]
    pairs = [
        (mostly_new, _changed(mechanism, mostly_new, not_b, "b")),
        (all_high, _changed(mechanism, all_high, "a", NAMES[1:])),
    ]
    spent = exact.drawn_by_both(mechanism, len(NAMES), epsilon)
    return Guarantee(
        "draw of what both name", "unknown universe, all ranks", epsilon, _NONE, spent, pairs
    )


def _changed(
    mechanism: Mechanism, counts: Counts, raised: Sequence[str], lowered: Sequence[str]
) -> Counts:
    """Return the supports after some itemsets gain a unit.

    Others lose one, if units are replaced.
    """
    if Neighbors(mechanism.neighbors) is not Neighbors.REPLACE_ONE:
        lowered = ""
    return {
        name: support + (name in raised) - (name in lowered) for name, support in counts.items()
    }


def _possible(mechanism: Mechanism, guarantee: Guarantee) -> Guarantee:
    """Return the guarantee on those changes alone that a unit of so few itemsets can make."""
    most = getattr(mechanism, "max_itemsets", None)
    if most is None or most_new(mechanism) is not None:  # then all pairs are of such units
        return guarantee

    def spent(first: Counts, second: Counts) -> Decimal:
        if exact.are_neighbors(first, second, mechanism.neighbors, most):
            return guarantee.spent(first, second)
        return Decimal(0)

    return replace(guarantee, spent=spent)


def _private(
    name: str, setting: str, epsilon: Fraction, delta: Fraction, distribution: OutputDistribution
) -> Guarantee:
    def spent(first: Counts, second: Counts) -> Decimal:
        return exact.hockey_stick(distribution(first), distribution(second), epsilon)

    return Guarantee(name, setting, epsilon, delta, spent)


@dataclass(frozen=True)
class Finding:
    """How much of a guarantee (epsilon, delta) is used, by the whole mechanism or by a stage.

    Attributes:
        name: The mechanism as a whole, or the stage.
        epsilon: The ε that is promised.
        delta: The δ that is promised.
        divergence: The largest tight δ at that ε over all pairs.
        one: The supports of the first of the worst pair, in units, by itemset.
        two: The supports of the second.
        setting: The universe and the rank cap of the worst pair.
    """

    name: str
    epsilon: float
    delta: float
    divergence: float
    one: tuple[int, ...]
    two: tuple[int, ...]
    setting: str

    @property
    def share(self) -> float | None:
        """The share of delta that is used; None where delta is 0, as the divergence must be."""
        if not self.delta:
            return None
        return self.divergence / self.delta

    @property
    def holds(self) -> bool:
        """Whether the guarantee holds on every pair, up to the numerical error."""
        return self.divergence <= self.delta + NUMERICAL_ERROR


@dataclass(frozen=True)
class AuditReport:
    """The findings about a mechanism, and about each of its stages.

    Attributes:
        mechanism: Its name.
        epsilon: The ε of its guarantee.
        delta: The δ of its guarantee.
        neighbors: The relation that the guarantee is about.
        whole: The finding about the mechanism as a whole.
        stages: The findings about its stages.
        pairs: How many pairs of neighbours were tried, in both directions.
        numerical_error: How far off a divergence may be.
    """

    mechanism: str
    epsilon: float
    delta: float
    neighbors: str
    whole: Finding
    stages: tuple[Finding, ...]
    pairs: int
    numerical_error: float = NUMERICAL_ERROR

    @property
    def holds(self) -> bool:
        """Whether every guarantee holds on every pair."""
        return self.whole.holds and all(stage.holds for stage in self.stages)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: each finding with its share, and with whether it holds."""
        whole, *stages = (
            asdict(finding) | {"share": finding.share, "holds": finding.holds}
            for finding in (self.whole, *self.stages)
        )
        return asdict(self) | {"whole": whole, "stages": stages, "holds": self.holds}


def auditable(name: str, epsilon: float, delta: float, neighbors: str) -> list[Mechanism]:
    """Return the mechanism of that name, or for "all" every one that can be audited.

    Args:
        name: The name of a mechanism, or "all"; ParameterError for another.
        epsilon: The ε of the guarantee.
        delta: The δ of the guarantee: 0 for mechanisms that spend none.
        neighbors: The relation that the guarantee is about.
    """
    specs = registry.single()
    if name in registry.MECHANISMS and name not in specs:
        raise ParameterError(
            f"{name} has many steps, which the tests audit one by one (docs/privacy.md, Theorem "
            f"{registry.MECHANISMS[name].theorem}); give {parameter('mechanism')} all, "
            f"{', '.join(specs)}"
        )
    if name != "all" and name not in specs:
        raise ParameterError(
            f"{parameter('mechanism')} must be one of all, {', '.join(specs)}, not {shown(name)}"
        )
    exact_delta = exact_delta_or_zero(delta)
    sole_name = None if name == "all" else name
    registry.check_delta(exact_delta, sole_name, listed=True)
    mechanisms: list[Mechanism] = []
    for spec_name, spec in specs.items():
        if name not in ("all", spec_name) or (spec.spends_delta and not exact_delta):
            continue
        # `settings` makes caps small
        candidates = None if spec.universe is UniverseNeed.UNKNOWN else len(NAMES)
        cap = MOST_NEW if spec.basket_cap is BasketCap.NEEDED else None
        public = PublicParameters(
            (1,), 1, neighbors, candidates, candidates is not None, max_basket=cap
        )
        mechanisms.append(registry.build(spec, epsilon, delta, public))
    return mechanisms


def audit(
    mechanism: Mechanism,
    *,
    trials: int = options.AUDIT_TRIALS,
    seed: int = options.AUDIT_SEED,
    progress: Callable[[float], None] = lambda fraction: None,
) -> AuditReport:
    """Audit a mechanism on structured pairs of neighbours and on random ones. No data is read.

    Raises ParameterError also for an epsilon above 50, and for a delta above 0 and below 1e-24,
    which the digits do not resolve.

    Args:
        mechanism: One of the registry. Its max_rank, max_itemsets and universe_size become small.
        trials: The number of random pairs, 0 to 1,000,000.
        seed: The seed of the random pairs.
        progress: A function that is called now and then with the share that is done, 0 to 1.
    """
    trials = whole_number("trials", trials, least=0, most=_MOST_TRIALS)
    cost = mechanism.cost
    for name, limit, value, fits in (
        ("epsilon", f"at most {LARGEST_EPSILON}", cost.epsilon, cost.epsilon <= LARGEST_EPSILON),
        ("delta", f"at least {LEAST_DELTA}", cost.delta, not 0 < cost.delta < LEAST_DELTA),
    ):
        if not fits:
            why = f"the audit is exact to {NUMERICAL_ERROR}"
            raise ParameterError(
                f"{parameter(name)} must be {limit} to be audited, not {value!r} ({why})"
            )
    neighbors, scales, most = mechanism.neighbors, _scales(mechanism), most_new(mechanism)
    pairs = [*exact.structured_pairs(neighbors, scales, most)]
    pairs += exact.random_pairs(neighbors, scales, most, trials, seed)
    stages = guarantees_of(mechanism)
    work = sum(len(guarantee.pairs or pairs) for stage in stages for guarantee in stage)
    done = count()
    whole, *of_stages = (
        _worst(stage, pairs, lambda: progress(next(done) / work)) for stage in stages
    )
    budget = float(cost.epsilon), float(cost.delta)
    return AuditReport(
        spec_of(mechanism).name, *budget, str(neighbors), whole, tuple(of_stages), len(pairs)
    )


def _worst(
    guarantees: Sequence[Guarantee], pairs: Sequence[Pair], tick: Callable[[], None]
) -> Finding:
    """Return the guarantee and the pair that use up most. Before each pair, tick is called."""

    def all_spent() -> Iterator[tuple[Decimal, Guarantee, Pair]]:
        for guarantee in guarantees:
            for before, after in guarantee.pairs or pairs:
                tick()
                yield guarantee.spent(before, after), guarantee, (before, after)
                yield guarantee.spent(after, before), guarantee, (after, before)

    spent, guarantee, (first, second) = max(all_spent(), key=lambda finding: finding[0])
    epsilon, delta, most = (
        float(Exact(Fraction(x))) for x in (guarantee.epsilon, guarantee.delta, spent)
    )
    descending = sorted(first, key=lambda name: -first[name])
    before, after = (tuple(data[name] for name in descending) for data in (first, second))
    return Finding(guarantee.name, epsilon, delta, most, before, after, guarantee.setting)


def _scales(mechanism: Mechanism) -> list[int]:
    """Return the supports that release a single itemset with probability 0.1, 0.5 and 0.99."""
    setting = settings(mechanism)[0]

    def is_released(support: int, chance: float) -> bool:
        if support >= _LARGEST_SCALE:
            return True
        spectrum = SupportSpectrum.from_supports([support], setting.universe)
        outcomes = setting.mechanism.distribution(spectrum)
        return bool(outcomes.probabilities[outcomes.levels == support].sum() >= chance)

    return [least_integer(partial(is_released, chance=chance), 1) for chance in (0.1, 0.5, 0.99)]
