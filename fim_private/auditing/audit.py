"""The exact audit: how much of its guarantee a mechanism uses on hard neighbouring data.

The tight δ at ε of two neighbours is the hockey-stick divergence Σ max(0, P(o) - e^ε P'(o)) over
outcomes o, in both directions. It is good to thirty digits, so that pure privacy is compared with
0, not with rounding.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import count
from operator import itemgetter
from typing import Any

from fim_private import options
from fim_private.auditing import exact
from fim_private.auditing.exact import (
    NAMES,
    NUMERICAL_ERROR,
    Counts,
    Outcomes,
    Pair,
    Setting,
    Spent,
)
from fim_private.dp.arguments import whole_number
from fim_private.dp.bounds import least_integer
from fim_private.dp.cost import Exact
from fim_private.dp.parameters import exact_delta_or_zero
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
# So many ranks have 999 thousandths of the tails of all steps.
_TAILED = 1_000
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
    spent: Spent
    pairs: Sequence[Pair] | None = None


def settings(mechanism: Any) -> list[Setting]:
    """Return every setting that the mechanism allows, with small caps."""
    spec = spec_of(mechanism)
    universes = [(None, "unknown universe"), (len(NAMES), "known universe")]
    if spec.universe is UniverseNeed.LISTED:
        universes = universes[1:]
    elif spec.universe is UniverseNeed.COUNTED:
        universes = universes[:1]
    max_itemsets = getattr(mechanism, "max_itemsets", None)
    if spec.universe is UniverseNeed.COUNTED:
        mechanism = replace(mechanism, universe_size=MOST_NEW)
    elif spec.basket_cap is BasketCap.NEEDED:
        mechanism = replace(mechanism, max_itemsets=MOST_NEW)
    elif max_itemsets is not None:
        mechanism = replace(mechanism, max_itemsets=min(max_itemsets, _FEW_NEW))
    if spec.rank_cap is RankCap.NONE:
        return [Setting(mechanism, universe, words) for universe, words in universes]
    return [
        Setting(replace(mechanism, max_rank=cap), universe, f"{words}, max_rank {cap}")
        for cap in CAPS
        for universe, words in universes
        # A known universe is searched to its end, whatever the cap: once is enough.
        if cap == CAPS[0] or universe is None or spec.rank_cap is not RankCap.SEARCH
    ]


def guarantees_of(mechanism: Mechanism) -> list[list[Guarantee]]:
    """Return the guarantees in every setting: a list for the whole, then one for each stage."""
    everywhere, cost = settings(mechanism), mechanism.cost
    guarantees = [
        [
            _private("whole", setting.words, cost.epsilon, cost.delta, setting.itemsets)
            for setting in everywhere
        ]
    ]
    theorem = vars(type(mechanism)).get("bounded_range")  # none is inherited
    if theorem:
        name = f"bounded range ({theorem})"
        guarantees.append(
            [
                Guarantee(
                    name,
                    setting.words,
                    cost.epsilon,
                    _NONE,
                    partial(setting.excess_range, cost.epsilon),
                )
                for setting in everywhere
            ]
        )
    if isinstance(mechanism, TightMargin):
        guarantees += _stages_of_tight_margin(mechanism, everywhere)
    if isinstance(mechanism, LargeMargin):
        guarantees += _stages_of_large_margin(mechanism, everywhere)
    return guarantees


def _stages_of_tight_margin(
    mechanism: TightMargin, everywhere: Sequence[Setting]
) -> list[list[Guarantee]]:
    """Return the guarantees of its rank search, and of its choice at a rank."""
    whole, delta = mechanism.cost.epsilon, mechanism.cost.delta
    search_epsilon = whole * (mechanism.shared_share + mechanism.step_share)
    # What the search leaves, and not what the mechanism says: it may choose with more.
    epsilon = whole - search_epsilon
    choices = [
        _private(
            f"choice at rank {cap}",
            setting.words,
            epsilon,
            delta,
            replace(setting, mechanism=mechanism.choice(cap)).itemsets,
        )
        for cap in CAPS
        for setting in everywhere[:_UNCAPPED]
    ]
    return [_searches(mechanism, everywhere, search_epsilon), choices]


def _stages_of_large_margin(
    mechanism: LargeMargin, everywhere: Sequence[Setting]
) -> list[list[Guarantee]]:
    """Return the steps of Theorems 1 to 3 (docs/privacy.md), each with its share of the whole."""
    epsilon, delta = mechanism.cost.epsilon, mechanism.cost.delta
    third, moved = epsilon / 3, mechanism.sensitivity
    tails = exact.step_tails(mechanism, _TAILED)
    draws = [
        Guarantee(
            f"draw at rank {rank}",
            setting.words,
            third,
            delta / 3,
            partial(setting.good_draw, rank, third),
        )
        for setting in everywhere[:_UNCAPPED]
        for rank in (1, 2, 3)
    ]
    return [
        [Guarantee("noisy maximum", "", third, _NONE, exact.noisy_maximum(mechanism, third))],
        _searches(mechanism, everywhere, moved * epsilon / 4),
        [
            Guarantee(
                "noise of the steps",
                f"ranks 1 to {_TAILED:,}",
                _NONE,
                delta / 6,
                lambda first, second: tails,
            )
        ],
        [
            Guarantee("margin", setting.words, _NONE, 2 * delta / 3, setting.bad_stop)
            for setting in everywhere
        ],
        [*draws, _hard_draw(mechanism, third, delta / 3)],
        [_named_draw(mechanism, moved * epsilon / 6)],
    ]


def _searches(
    mechanism: LargeMargin | TightMargin, everywhere: Sequence[Setting], epsilon: Fraction
) -> list[Guarantee]:
    """Return the guarantee of the rank search in every setting, and where it is used up.

    That is on steps that stop, but the last. It holds for any thresholds. Here they are 0 up to
    rank 4, which ought to stop, and then high. At the last rank all noise lies to one side.
    """
    unit = math.ceil(30 / mechanism.cost.epsilon)
    lower = 6 * unit - mechanism.sensitivity
    before = dict.fromkeys(NAMES[:6], 6 * unit) | {"a": 7 * unit, "f": lower}

    def threshold(rank: int) -> int:
        return 0 if rank < 5 else 2 * unit

    def ranks(counts: Counts) -> Outcomes:
        search = mechanism.search(SupportSpectrum.from_supports(counts.values()))
        return exact.ranks(replace(search, threshold=threshold, last_rank=5))

    hard = _private("rank search", "thresholds for the worst", epsilon, _NONE, ranks)
    pair = exact.changed(mechanism.neighbors, before, "af", "bcde")
    return [
        *(
            _private("rank search", setting.words, epsilon, _NONE, setting.stopping_rank)
            for setting in everywhere
        ),
        replace(hard, pairs=[pair]),
    ]


def _hard_draw(mechanism: LargeMargin, epsilon: Fraction, delta: Fraction) -> Guarantee:
    """Return the guarantee of the draw where it is used up: one itemset rises, no other does."""
    rank = len(NAMES)
    support = math.ceil(2 * exact.margin_certified(mechanism, rank))
    before = dict.fromkeys(NAMES, support) | {"a": support - 1}
    pairs = [exact.changed(mechanism.neighbors, before, "a", NAMES[1:])]
    spent = partial(Setting(mechanism, None).good_draw, rank, epsilon)
    return Guarantee(f"draw at rank {rank}", "unknown universe", epsilon, delta, spent, pairs)


def _named_draw(mechanism: LargeMargin, epsilon: Fraction) -> Guarantee:
    """Return the guarantee of drawing an itemset that both data name: (ε/3, 0), by Theorem 3.

    That needs the zeros, whose weight in the sum limits what new itemsets change. Under add-remove
    it is (ε/6, 0).
    """
    support = math.ceil(12 / mechanism.cost.epsilon)
    mostly_new = dict.fromkeys(NAMES, 0) | {"a": support, "b": 2}
    all_high = dict.fromkeys(NAMES, support)
    pairs = [
        exact.changed(mechanism.neighbors, mostly_new, {*NAMES} - {"b"}, "b"),
        exact.changed(mechanism.neighbors, all_high, "a", NAMES[1:]),
    ]
    spent = partial(Setting(mechanism, None).drawn_by_both, len(NAMES), epsilon)
    return Guarantee(
        "draw of what both name", "unknown universe, all ranks", epsilon, _NONE, spent, pairs
    )


def _private(
    name: str,
    setting: str,
    epsilon: Fraction,
    delta: Fraction,
    distribution: Callable[[Counts], Outcomes],
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
    names = ["all", *specs]
    if name in registry.MECHANISMS and name not in specs:
        raise ParameterError(
            f"{name} has many steps, which the tests audit one by one (docs/privacy.md, Theorem "
            f"{registry.MECHANISMS[name].theorem}); give {parameter('mechanism')} "
            f"{', '.join(names)}"
        )
    if name not in names:
        raise ParameterError(
            f"{parameter('mechanism')} must be one of {', '.join(names)}, not {shown(name)}"
        )
    exact_delta = exact_delta_or_zero(delta)
    sole_name = None if name == "all" else name
    registry.check_delta(exact_delta, sole_name, listed=True)
    mechanisms: list[Mechanism] = []
    for spec in specs.values():
        if name in ("all", spec.name) and (exact_delta or not spec.spends_delta):
            # `settings` makes caps small
            cap = MOST_NEW if spec.basket_cap is BasketCap.NEEDED else None
            public = PublicParameters((1,), 1, neighbors, len(NAMES), named=True, max_basket=cap)
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
    _check_drawn_as_audited(mechanism)
    cost = mechanism.cost
    if cost.epsilon > LARGEST_EPSILON:
        raise ParameterError(
            f"{parameter('epsilon')} must be at most {LARGEST_EPSILON} to be audited, "
            f"not {cost.epsilon!r} (the audit is exact to {NUMERICAL_ERROR})"
        )
    if 0 < cost.delta < LEAST_DELTA:
        raise ParameterError(
            f"{parameter('delta')} must be at least {LEAST_DELTA} to be audited, "
            f"not {cost.delta!r} (the audit is exact to {NUMERICAL_ERROR})"
        )
    # How many itemsets one unit may support; None stands for no limit.
    limits = vars(settings(mechanism)[0].mechanism)
    most = limits.get("universe_size", limits.get("max_itemsets"))
    neighbors, scales = mechanism.neighbors, _scales(mechanism)
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


def _check_drawn_as_audited(mechanism: Mechanism) -> None:
    """Raise ParameterError for a class with a `select` of its own, which an audit does not see."""
    kind = type(mechanism)
    if kind.select is not spec_of(mechanism).mechanism.select:
        raise ParameterError(
            f"{kind.__name__} has a select of its own, which the audit does not see: give its "
            "chances to fim_private.auditing.replay.audit_chances"
        )


def _worst(
    guarantees: Sequence[Guarantee], pairs: Sequence[Pair], tick: Callable[[], None]
) -> Finding:
    """Return the guarantee and the pair that use up most. Before each pair, tick is called."""

    def all_spent() -> Iterator[tuple[Decimal, Guarantee, Counts, Counts]]:
        for guarantee in guarantees:
            for pair in guarantee.pairs or pairs:
                tick()
                for first, second in (pair, pair[::-1]):
                    yield guarantee.spent(first, second), guarantee, first, second

    spent, guarantee, first, second = max(all_spent(), key=itemgetter(0))
    epsilon, delta, most = (
        float(Exact(Fraction(x))) for x in (guarantee.epsilon, guarantee.delta, spent)
    )
    descending = sorted(first, key=lambda name: -first[name])
    before, after = (tuple(data[name] for name in descending) for data in (first, second))
    return Finding(guarantee.name, epsilon, delta, most, before, after, guarantee.setting)


def _scales(mechanism: Mechanism) -> list[int]:
    """Return the supports that release a single itemset with probability 0.1, 0.5 and 0.99."""
    setting = settings(mechanism)[0]

    def is_released(chance: float, support: int) -> bool:
        if support >= _LARGEST_SCALE:
            return True
        spectrum = SupportSpectrum.from_supports([support], setting.universe)
        outcomes = setting.mechanism.distribution(spectrum)
        return bool(outcomes.probabilities[outcomes.levels == support].sum() >= chance)

    return [least_integer(partial(is_released, chance), 1) for chance in (0.1, 0.5, 0.99)]
