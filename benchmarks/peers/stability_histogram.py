"""What is done today with OpenDP, PipelineDP or Tumult: cut, count, add noise, release what clears
a threshold.

Every basket is cut to B items by a rule that looks at no other basket, so that one basket supports
at most Δ = Σ C(B, r) itemsets of the sizes r. A user is cut to B items in all, or to m baskets of B
items, where Δ is m times that. All that occur are counted, and OpenDP's own make_laplace_threshold
or make_gaussian_threshold (Korolova et al. 2009; Rogers 2023) adds noise and releases the counts
that clear its
threshold: (ε, δ) by OpenDP's own map of how far neighbours are apart. A unit more or less moves Δ
counts by 1; a unit replaced moves 2Δ counts by 1, which OpenDP would reach as two steps of its
SymmetricDistance (and would then take it that one count may move by 2, which it cannot: to its
advantage here). The highest count of them are kept.

Generous to this baseline: best_cut.py takes the B and the rule that suit the very data. And OpenDP
is taken at its word: as of 0.16 its thresholds are about one too low for its δ, for a count of
exactly the threshold is released and its map leaves that out (opendp/opendp issue 2922).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.bisection import least
from benchmarks.frame.datasets import Source
from benchmarks.peers.cut_baskets import Counted, Cut, counted, degree
from benchmarks.peers.item_matrix import Int64, item_matrix
from benchmarks.peers.question import Question, Released, nothing
from fim_private.dp.composition import zcdp_rho
from fim_private.dp.noise import Randomness
from fim_private.dp.parameters import exact_delta, exact_epsilon

# Integer noise in bulk.


@dataclass(frozen=True)
class IntegerNoise:
    """P(noise = k) ∝ e^{-|k| / scale}, or e^{-k² / (2 scale²)} where gaussian; drawn with floats,
    out of a seed.
    """

    gaussian: bool
    scale: float

    def survival(self, distances: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return P(noise >= distance) for distances >= 1."""
        if self.gaussian:
            tail = gaussian_tail(self.scale)
            return tail[np.minimum(distances, len(tail) - 1)]
        return np.asarray(np.exp(-distances / self.scale) / (1 + math.exp(-1 / self.scale)))

    def excess(self, distance: int, number: int, rng: np.random.Generator) -> Int64:
        """Draw by how much the noise is above a distance >= 1, given that it is not below it."""
        if not self.gaussian:  # its tail is geometric
            return rng.geometric(-math.expm1(-1 / self.scale), number).astype(np.int64) - 1
        tail = gaussian_tail(self.scale)
        levels = tail[min(distance, len(tail) - 1)] * (1 - rng.random(number))
        # The largest x with P(noise >= x) >= level.
        place: Int64 = np.searchsorted(tail[::-1], levels, side="left").astype(np.int64)
        return len(tail) - 1 - distance - place

    def draw(self, number: int, rng: np.random.Generator) -> Int64:
        """Return so many draws of the noise, (number,)."""
        if not self.gaussian:
            share = -math.expm1(-1 / self.scale)
            return (rng.geometric(share, number) - rng.geometric(share, number)).astype(np.int64)
        tail = gaussian_tail(self.scale)
        zero = 1 - 2 * tail[1]
        sign = np.where(rng.random(number) < 0.5, -1, 1)
        return np.where(rng.random(number) < zero, 0, sign * (1 + self.excess(1, number, rng)))


@lru_cache(maxsize=4)
def gaussian_tail(scale: float) -> NDArray[np.float64]:
    """Return P(noise >= t) for t = 0, 1, ... up to 38 scales, where doubles end."""
    weights = np.exp(-((np.arange(math.ceil(38 * scale) + 2) / scale) ** 2) / 2)
    tail = np.cumsum(weights[::-1])[::-1]
    return np.asarray(tail / (2 * tail[0] - 1))


# Shares of δ for the threshold; the rest turns zCDP into (ε, δ).
_DELTA_SHARES = (0.003, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)
LARGEST_DEGREE = 1 << 31  # OpenDP's l0 distances are of 32 bits
_OUT_OF_REACH = 1 << 62  # a threshold that no count clears; OpenDP has 64 bits
_STEPS = 20  # of a thousandth, to the Gaussian scale that OpenDP's map allows


@contextmanager
def opendp() -> Iterator[Any]:
    """Give OpenDP, with the features that its thresholds need."""
    import opendp.prelude as dp
    from opendp.mod import GLOBAL_FEATURES

    missing = {"contrib"} - set(GLOBAL_FEATURES)
    dp.enable_features(*missing)
    try:
        yield dp
    finally:
        dp.disable_features(*missing)


def threshold_measurement(scale: float, threshold: int, *, gaussian: bool) -> Any:
    """Return OpenDP's measurement, from a dict of whole numbers to the dict of the noisy ones that
    clear the threshold.
    """
    with opendp() as dp:
        domain = dp.map_domain(dp.atom_domain(T="u32"), dp.atom_domain(T="i64"))
        distance = dp.absolute_distance(T="i64")
        if gaussian:
            metric, make = dp.l02inf_distance(distance), dp.m.make_gaussian_threshold
        else:
            metric, make = dp.l01inf_distance(distance), dp.m.make_laplace_threshold
        return make(domain, metric, scale, threshold)


@dataclass(frozen=True)
class Threshold:
    """A measurement of OpenDP: noise of that scale on each of the counts, released where the sum is
    >= threshold.

    degree: how many counts differ between neighbours, each by 1.
    """

    gaussian: bool
    degree: int
    scale: float
    threshold: int

    def measurement(self) -> Any:
        """Return OpenDP's measurement, from a dict of counts to the dict of those released."""
        return threshold_measurement(self.scale, self.threshold, gaussian=self.gaussian)

    def distance(self) -> tuple[int, int, int]:
        """Return how far neighbours' counts are apart, as OpenDP has it: L0, L1 or L2 rounded up,
        and L∞.

        OpenDP takes √L0 L∞ for L2 where that is less, so that rounding up costs nothing.
        """
        return self.degree, math.isqrt(self.degree - 1) + 1 if self.gaussian else self.degree, 1

    def cost(self, delta: float) -> tuple[float, float]:
        """Return (ε, δ) by OpenDP's maps; the Gaussian form spends delta, and ε is ∞ if that is too
        little.
        """
        from opendp.mod import OpenDPException

        with opendp() as dp:
            measurement = self.measurement()
            if self.gaussian:
                measurement = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(measurement), delta)
            try:
                epsilon, spent = measurement.map(self.distance())
            except OpenDPException:  # the threshold alone costs more than delta, or is no threshold
                return math.inf, 1.0
            return float(epsilon), float(spent)

    @property
    def noise(self) -> IntegerNoise:
        """The distribution of the noise that OpenDP adds."""
        return IntegerNoise(self.gaussian, self.scale)

    def keeps(self, epsilon: float, delta: float) -> bool:
        """Whether OpenDP's map allows (epsilon, delta)."""
        spent = self.cost(delta)
        return spent[0] <= epsilon and spent[1] <= delta


def _least(holds: Callable[[int], bool]) -> int:
    """Return the least threshold from 2 on for which a condition holds, or what is out of reach."""
    return least(holds, 2, _OUT_OF_REACH)


def laplace(units: int, epsilon: float, delta: float) -> Threshold:
    """Return the Laplace form with the least scale, and then the least threshold, that OpenDP's map
    allows.
    """
    scale = units / epsilon
    far = math.ceil(800 * scale)  # beyond any threshold: its δ is 0
    while Threshold(False, units, scale, far).cost(delta)[0] > epsilon:
        scale = math.nextafter(scale, math.inf)
    return Threshold(
        False,
        units,
        scale,
        _least(lambda t: Threshold(False, units, scale, t).keeps(epsilon, delta)),
    )


def gaussian(units: int, epsilon: float, delta: float) -> Threshold:
    """Return the Gaussian form of about the lowest threshold, and with it the least scale, that
    OpenDP's map allows.
    """
    guess = min(
        (_guess(units, epsilon, delta, share) for share in _DELTA_SHARES),
        key=lambda one: one.threshold,
    )
    for _ in range(_STEPS):
        if Threshold(True, units, guess.scale, math.ceil(40 * guess.scale)).keeps(epsilon, delta):
            break
        guess = replace(guess, scale=guess.scale * 1.001)
    else:  # the rounding in OpenDP's map, some units * 2^-53, is above delta
        return replace(guess, threshold=_OUT_OF_REACH)
    threshold = _least(lambda at: replace(guess, threshold=at).keeps(epsilon, delta))
    low, high = guess.scale / 2, guess.scale
    for _ in range(30):
        scale = (low + high) / 2
        low, high = (
            (low, scale)
            if replace(guess, threshold=threshold, scale=scale).keeps(epsilon, delta)
            else (scale, high)
        )
    return replace(guess, threshold=threshold, scale=high)


def _guess(units: int, epsilon: float, delta: float, share: float) -> Threshold:
    """Return about what the Gaussian form needs where a share of delta goes to the threshold,
    without OpenDP.
    """
    rho = zcdp_rho(exact_epsilon(epsilon), exact_delta(delta * (1 - share)))
    scale = math.sqrt(units / (2 * rho))
    unlikely = np.flatnonzero(gaussian_tail(scale) * units <= delta * share)
    return Threshold(True, units, scale, int(unlikely[0]) + 1)


@cache  # a second for each, and thousands are asked for
def calibrated(units: int, epsilon: float, delta: float) -> Threshold:
    """Return the form of the lower threshold where so many counts differ: no data is looked at."""
    forms = [laplace(units, epsilon, delta), gaussian(units, epsilon, delta)]
    return min(forms, key=lambda one: one.threshold)


def distance(question: Question, kept: Cut) -> int:
    """Return how many counts of cut data differ between neighbours at most, each by 1."""
    return degree(kept, question.sizes) * question.neighbors.changed_units


def low_released(cells: Counted, form: Threshold, rng: np.random.Generator) -> tuple[Int64, Int64]:
    """Draw which itemsets that are not listed clear the threshold: supports when cut, and noisy
    supports.

    There are millions, too many for a dict at each trial. Those of one level are alike, so that the
    number that clear it is binomial: the same distribution as that of OpenDP, with floats.
    """
    distances = form.threshold - cells.low
    numbers = rng.binomial(cells.multiplicities, form.noise.survival(distances))
    hit = np.flatnonzero(numbers)
    parts = [
        form.threshold + form.noise.excess(int(distances[i]), int(numbers[i]), rng) for i in hit
    ]
    return np.repeat(cells.low[hit], numbers[hit]), np.concatenate(
        [np.zeros(0, dtype=np.int64), *parts]
    )


def high_released(
    cells: Counted, form: Threshold, rng: np.random.Generator, measurement: Any | None
) -> tuple[Int64, Int64]:
    """Release the listed itemsets that clear the threshold: places in the list, and noisy supports.

    measurement: OpenDP's, which draws from the system, whatever the seed; None: draw the like from
    rng.
    """
    if measurement is None:
        noisy = cells.listed + form.noise.draw(len(cells.listed), rng)
        places = np.flatnonzero(noisy >= form.threshold)
        return places, noisy[places]
    released = measurement(dict(enumerate(cells.listed.tolist()))) if len(cells.listed) else {}
    places = np.array(sorted(released), dtype=np.int64)
    return places, np.array([released[place] for place in places.tolist()], dtype=np.int64)


def _trial(
    source: Source,
    cells: Counted,
    form: Threshold,
    count: int,
    rng: np.random.Generator,
    measurement: Any,
) -> Released:
    places, noisy = high_released(cells, form, rng, measurement)
    levels, low_noisy = low_released(cells, form, rng)
    top = np.argsort(-np.concatenate([noisy, low_noisy]), kind="stable")[:count]
    low = top[top >= len(places)] - len(places)
    true = np.concatenate([cells.true[places], np.zeros(len(levels), dtype=np.int64)])
    names = cells.spectrum.sample_itemsets(
        levels[low].tolist(), Randomness.seeded(int(rng.integers(1 << 63)))
    )
    matrix = item_matrix(source)
    true[low + len(places)] = [matrix.support(matrix.codes(labels)) for labels in names]
    return Released(true[top], np.concatenate([noisy, low_noisy])[top].astype(np.float64))


def histogram_trials(
    question: Question, count: int, kept: Cut, trials: int, seed: int
) -> list[Released]:
    """Release the count itemsets of the highest noisy supports among those that clear the
    threshold, so many times.

    kept: how units are cut. OpenDP draws the noise of the listed itemsets, whatever the seed.
    """
    units = distance(question, kept)
    if not 0 < units < LARGEST_DEGREE:
        return [nothing()] * trials
    form = calibrated(units, question.epsilon, question.delta)
    cells = counted(question.source, question.sizes, kept, form.threshold, True)
    measurement = form.measurement()
    streams = np.random.default_rng(seed).spawn(trials)
    return [_trial(question.source, cells, form, count, rng, measurement) for rng in streams]
