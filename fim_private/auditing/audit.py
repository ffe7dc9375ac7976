"""The exact audit: how much of its guarantee a mechanism uses on neighbouring data that is hard for it.

The tight δ at ε of a pair of neighbours is the hockey-stick divergence Σ max(0, P(o) - e^ε P'(o)) over outcomes o; it
is computed both ways round. It is good to thirty digits (`auditing.exact`), so that a purely private mechanism is held
to 0, not to rounding. An audit can prove that a guarantee is broken, never that it holds: that is what the theorems
of docs/privacy.md are for.

A mechanism of stages has slack that would hide a broken one, so each stage is also held to a guarantee of its own.
Rank caps and limits on a unit's itemsets are set to small numbers here: the theorems hold for every cap, and small ones
are crossed by few itemsets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import count
from typing import Any

from fim_private import defaults
from fim_private.auditing import exact
from fim_private.auditing.guarantees import MOST_NEW, Guarantee, guarantees_of, most_new, settings
from fim_private.auditing.outcomes import OutputDistributions
from fim_private.auditing.pairs import NAMES, Pair, random_pairs, structured_pairs
from fim_private.dp.bisection import least_integer
from fim_private.dp.cost import Exact
from fim_private.dp.parameters import exact_delta_or_zero, whole_number
from fim_private.errors import ParameterError, parameter, shown
from fim_private.mechanisms import Mechanism, registry
from fim_private.mechanisms.mechanism_spec import BasketCap, MechanismSpec, UniverseNeed
from fim_private.mechanisms.public_parameters import PublicParameters
from fim_private.mechanisms.registry import spec_of
from fim_private.spectrum import SupportSpectrum

NUMERICAL_ERROR = exact.NUMERICAL_ERROR
# The least delta audited: the numerical error is a millionth of it.
LEAST_DELTA = 1e-24
# The largest epsilon audited: of sixty digits, multiplication by e^ε must leave thirty.
LARGEST_EPSILON = 50
_LARGEST_SCALE = 1 << 40
_MOST_TRIALS = 1_000_000

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Finding:
    """What one guarantee, of the whole mechanism or of a stage, was found to use.

    name: of the mechanism's part. setting: the universe and the rank cap at which the worst was found, in words.
    epsilon, delta: the guarantee. divergence: the largest tight δ at that ε over all pairs.
    one, two: the supports of the worst pair in units, itemset by itemset; the divergence is from one to two.
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
        """The part of delta that was used; None where delta is 0, and the divergence has to be 0 too."""
        return self.divergence / self.delta if self.delta else None

    @property
    def holds(self) -> bool:
        """Whether the guarantee was kept on every pair, up to the numerical error."""
        return self.divergence <= self.delta + NUMERICAL_ERROR


@dataclass(frozen=True)
class AuditReport:
    """What an audit found of a mechanism with this name, guarantee (epsilon, delta) and neighbour relation.

    whole: the mechanism. stages: each of its stages by itself. pairs: how many pairs were tried, each both ways.
    numerical_error: how far a divergence is off at most.
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
        """Whether every guarantee was kept on every pair."""
        return self.whole.holds and all(stage.holds for stage in self.stages)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; each finding with its share, and with whether it holds."""
        findings = {"whole": _plain(self.whole), "stages": [_plain(stage) for stage in self.stages]}
        return asdict(self) | findings | {"holds": self.holds}


def _plain(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain values."""
    return asdict(finding) | {"share": finding.share, "holds": finding.holds}


def auditable(name: str, epsilon: float, delta: float, neighbors: str) -> list[Mechanism]:
    """Return the mechanism of that name, or with "all" every one that can be audited, with this guarantee.

    delta: 0 for those that spend none.

    Raises ParameterError for another name, which lists the choices, and for a parameter out of range.
    """
    specs = registry.single()
    if name in registry.MECHANISMS and name not in specs:
        raise ParameterError(
            f"{name} is a run of many steps, which the tests audit one by one (docs/privacy.md, "
            f"Theorem {registry.MECHANISMS[name].theorem}); "
            f"{parameter('mechanism')} takes all, {', '.join(specs)}"
        )
    if name != "all" and name not in specs:
        raise ParameterError(f"{parameter('mechanism')} must be one of all, {', '.join(specs)}, not {shown(name)}")
    exact = exact_delta_or_zero(delta)
    registry.check_delta(exact, None if name == "all" else name, listed=True)
    asked = [spec for each, spec in specs.items() if name in ("all", each)]
    return [_built(spec, epsilon, delta, neighbors) for spec in asked if exact or not spec.spends_delta]


def _built(spec: MechanismSpec, epsilon: float, delta: float, neighbors: str) -> Mechanism:
    """Return a mechanism to be audited, whose caps and limits `settings` then replaces by small ones."""
    candidates = None if spec.universe is UniverseNeed.UNKNOWN else len(NAMES)
    max_basket = MOST_NEW if spec.basket_cap is BasketCap.NEEDED else None
    public = PublicParameters((1,), 1, neighbors, candidates, candidates is not None, max_basket=max_basket)
    return registry.build(spec, epsilon, delta, public)


def audit(
    mechanism: Mechanism,
    *,
    trials: int = defaults.AUDIT_TRIALS,
    seed: int = defaults.AUDIT_SEED,
    progress: Progress = lambda fraction: None,
) -> AuditReport:
    """Audit a mechanism on structured pairs of neighbours and on `trials` random ones. No data is read.

    mechanism: of any class of the registry; its max_rank, max_itemsets and universe_size are replaced by small ones.
    trials: >= 0. seed: of the random pairs. progress: called now and then with the part that is done, 0 to 1.
    Raises ParameterError for a negative number of trials, an epsilon above 50, and a delta above 0 and below 1e-24,
    which the digits do not resolve.
    """
    trials = whole_number("trials", trials, least=0, most=_MOST_TRIALS)
    if mechanism.cost.epsilon > LARGEST_EPSILON:
        raise ParameterError(
            f"{parameter('epsilon')} must be at most {LARGEST_EPSILON} to be audited, not {mechanism.cost.epsilon!r} "
            f"(the audit is exact to {NUMERICAL_ERROR})"
        )
    if 0 < mechanism.cost.delta < LEAST_DELTA:
        raise ParameterError(
            f"{parameter('delta')} must be at least {LEAST_DELTA} to be audited, not {mechanism.cost.delta!r} "
            f"(the audit is exact to {NUMERICAL_ERROR})"
        )
    neighbors, scales, most = mechanism.neighbors, _scales(mechanism), most_new(mechanism)
    pairs = [
        *structured_pairs(neighbors, scales, most),
        *random_pairs(neighbors, scales, most, trials, seed),
    ]
    cost = mechanism.cost
    parts = guarantees_of(mechanism, OutputDistributions())
    work = sum(len(guarantee.pairs or pairs) for part in parts for guarantee in part)
    done = count()
    whole, *stages = (_worst(part, pairs, lambda: progress(next(done) / work)) for part in parts)
    return AuditReport(
        spec_of(mechanism).name,
        float(cost.epsilon),
        float(cost.delta),
        str(neighbors),
        whole,
        tuple(stages),
        len(pairs),
    )


def _worst(guarantees: Sequence[Guarantee], pairs: Sequence[Pair], tick: Callable[[], None]) -> Finding:
    """Return the guarantee and the pair that use up most. Before each pair, tick is called."""
    worst: tuple[Decimal, Guarantee, Pair] | None = None
    for guarantee in guarantees:
        for pair in guarantee.pairs or pairs:
            tick()
            for one, two in (pair, pair[::-1]):
                spent = guarantee.spent(one, two)
                if worst is None or spent > worst[0]:
                    worst = spent, guarantee, (one, two)
    assert worst is not None
    spent, guarantee, (one, two) = worst
    return Finding(
        guarantee.name,
        float(Exact(guarantee.epsilon)),
        float(Exact(guarantee.delta)),
        float(Exact(Fraction(spent))),
        tuple(sorted(one.values(), reverse=True)),
        tuple(two[name] for name in sorted(one, key=lambda name: -one[name])),
        guarantee.setting,
    )


def _scales(mechanism: Mechanism) -> list[int]:
    """Return supports, in units, with which a single itemset is released with probability 0.1, 0.5 and 0.99."""
    subject, universe, _ = settings(mechanism)[0]

    def released(support: int) -> float:
        found = subject.distribution(SupportSpectrum.from_supports([support], universe))
        return float(found.probabilities[found.levels == support].sum())

    def scale(chance: float) -> int:
        return least_integer(lambda support: support >= _LARGEST_SCALE or released(support) >= chance, 1)

    return [scale(chance) for chance in (0.1, 0.5, 0.99)]
