"""How many units there are: when it is bought, with which noise."""

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import oracles
import pyarrow as pa
import pytest
from release_distributions import Noise

import fim_private as fim
from fim_private.dp.accountant import Step
from fim_private.dp.cost import PrivacyCost
from fim_private.reading.purchases import read_transactions
from fim_private.request.supports import NoiseKind, SupportNoise

BASKETS = [["bread", "butter"]] * 1200 + [["bread", "jam"]] * 300 + [["tea"]] * 480 + [[]] * 20
SUPPORTS = {("bread",): 1500, ("bread", "butter"): 1200, ("jam",): 300, ("caviar",): 0}
DATA = read_transactions(BASKETS)
CATALOGUE = ["bread", "butter", "jam", "tea", "caviar"]
VISITS = pa.table({"customer": [*range(700)] * 2, "items": [["bread", "butter"]] * 1400})
TWENTIETH = Fraction(1, 20)

# Where units are chosen their number is private under replace-one, too.
CHOSEN: dict[str, Any] = {"where": "customer >= 0", "neighbors": "replace-one"}

# What comes with supports otherwise.
BARE = {"supports": False}

PICKED, OF_LIST = {"mechanism": "limited-domain"}, {"catalogue": CATALOGUE, "top": 2}
OF_USERS = {"top": 3, "user": "customer", "mechanism": "levelwise"}

# Every composition there is (basic, zCDP, GDP; ρ; δ = 0) in which a number of units is bought.
COMPOSED: dict[str, tuple[Any, dict[str, Any], NoiseKind]] = {
    "one": (DATA, {"mechanism": "limited-domain", "top": 1, **BARE}, NoiseKind.LAPLACE),
    "one support": (DATA, {"mechanism": "limited-domain", "top": 1}, NoiseKind.LAPLACE),
    "many": (DATA, {"mechanism": "limited-domain", "top": 60, **BARE}, NoiseKind.GAUSSIAN),
    "levelwise over a list": (DATA, {"top": 3, "catalogue": CATALOGUE, **BARE}, NoiseKind.NORMAL),
    "levelwise": (DATA, {"top": 3, **BARE}, NoiseKind.NORMAL),
    "users": (VISITS, {"top": 3, "size": "1-2", "user": "customer", **BARE}, NoiseKind.NORMAL),
    "chosen": (VISITS, {"top": 3, "supports": True, **CHOSEN}, NoiseKind.NORMAL),
    "rho": (VISITS, {**PICKED, "rho": 0.1, "supports": True, **CHOSEN}, NoiseKind.GAUSSIAN),
    "rho of levelwise": (DATA, {"top": 3, "rho": 0.1, **BARE}, NoiseKind.NORMAL),
    "rho of users": (VISITS, {**OF_USERS, "rho": 0.1, **BARE}, NoiseKind.NORMAL),
    "pure": (DATA, {**OF_LIST, "delta": 0, "supports": True}, NoiseKind.LAPLACE),
}
# Those in which it comes with supports.
TOGETHER: dict[str, tuple[Any, dict[str, Any]]] = {
    "levelwise": (DATA, {"top": 3}),
    "nothing": (DATA, {"top": 3, "size": 5}),
    "users": (VISITS, {"top": 3, "size": "1-2", "user": "customer"}),
    "rules": (DATA, {"top": 3, "size": 2, "rules": True}),
    "a least number": (DATA, {"size": "1-2", "min_support": 300}),
    "picks": (DATA, {"mechanism": "limited-domain", "top": 60}),
    "rho of picks": (DATA, {"mechanism": "limited-domain", "rho": 0.1}),
    "chosen": (VISITS, {"top": 3, "where": "customer >= 0"}),
}
every_budget = pytest.mark.parametrize(("data", "asked", "kind"), COMPOSED.values(), ids=COMPOSED)


def mined(data: Any, seed: int = 1, **asked: Any) -> fim.Release:
    release: fim.Release = fim.mine(data, **{"count": True, "seed": seed, **asked})
    return release


def share_for(release: fim.Release, purpose: str) -> Step:
    [share] = [share for share in release.shares if share.purpose == purpose]
    return share


def noise_bought(release: fim.Release, kind: NoiseKind) -> SupportNoise:
    """The noise of the number of units, by the definition, from what was paid for it."""
    share = share_for(release, "count")
    if kind is NoiseKind.LAPLACE:
        assert share.delta == 0
        return SupportNoise.for_budget(Fraction(share.epsilon or 0), None, 1)
    if kind is NoiseKind.GAUSSIAN:
        return SupportNoise.for_rho(Fraction(share.rho or 0), 1)
    spent = 2 * share.rho if share.mu_squared is None and share.rho else share.mu_squared
    return SupportNoise.for_mu_squared(Fraction(spent or 0), 1)


def true_units(data: Any, asked: dict[str, Any]) -> int:
    return 700 if "user" in asked else 1400 if data is VISITS else 2000


@every_budget
def test_a_twentieth_of_the_budget_buys_it(data: Any, asked: Any, kind: NoiseKind) -> None:
    release: Any = mined(data, **asked)
    without = mined(data, **asked | {"count": False})
    share = share_for(release, "count")
    assert (share.sizes, share.fraction) == ((), TWENTIETH)
    assert sum(one.fraction for one in release.shares) == 1
    assert release.cost == without.cost
    assert (without.units, without.units_interval) == (None, None)
    assert "count" not in {one.purpose for one in without.shares}
    for name in ("epsilon", "rho", "mu_squared"):
        both = [[getattr(one, name) or 0 for one in r.shares] for r in (release, without)]
        assert sum(both[0]) == sum(both[1])
    width = noise_bought(release, kind).half_width
    assert release.units_interval == (release.units - width, release.units + width)
    assert abs(release.units - true_units(data, asked)) < 10 * width + 1


@pytest.mark.parametrize(("data", "asked"), TOGETHER.values(), ids=TOGETHER)
def test_it_comes_with_supports_for_nothing(data: Any, asked: dict[str, Any]) -> None:
    asked = {**asked, "supports": True}
    release: Any
    release, counted = (mined(data, **asked, count=count) for count in (False, True))
    assert release == counted
    assert "count" not in {share.purpose for share in release.shares}
    assert sum(share.fraction for share in release.shares) == 1
    assert release.has_shares
    spent = share_for(release, "supports")
    mu_squared = spent.mu_squared or (2 * spent.rho if spent.rho else None)
    if release.itemsets:
        assert release.noise.kind is NoiseKind.TWO_NORMALS
        assert release.units_noise == release.noise.number
        if mu_squared:
            count = release.noise.count
            assert release.noise == SupportNoise.with_units(Fraction(mu_squared), count)
    else:  # all of it for the number of units
        assert mu_squared is not None
        assert release.units_noise == SupportNoise.for_mu_squared(Fraction(mu_squared), 1)
    deviation = math.sqrt(release.units_noise.parameter)
    assert abs(release.units - true_units(data, asked)) < 5 * deviation


@pytest.mark.full
@pytest.mark.parametrize("name", ["one", "rho", "levelwise", "users"])
def test_it_is_drawn_from_its_law(name: str) -> None:
    data, asked, kind = COMPOSED[name]
    true = true_units(data, asked)
    asked = {**asked, **({"rho": 20} if "rho" in asked else {"epsilon": 30})}
    if name == "users":
        data = read_transactions(data, user="customer")
        del asked["user"]
        # of so large a budget and so few itemsets it is not the default
        asked["mechanism"] = "levelwise"
    noise = noise_bought(mined(data, **asked), kind)
    law = _law(noise)
    scale = 2 if kind is NoiseKind.LAPLACE else 4
    scales = [Fraction(part) ** (scale // 2) for part in ("0.6", "1.5")]
    wrong = [_law(SupportNoise(kind, noise.parameter * by, 0, 1)) for by in scales]
    draws = 100
    while min(oracles.detects(law, other, draws, level=1e-6) for other in wrong) < 0.999:
        draws += draws // 4
    drawn = Counter((mined(data, seed, **asked).units or 0) - true for seed in range(draws))
    assert oracles.chi_square_pvalue(drawn, law, draws) > 1e-6


def _law(noise: SupportNoise) -> dict[Any, float]:
    law = Noise(str(noise.kind).partition("-")[2], noise.parameter).chances()
    return {z: float(p) for z, p in law.items()}


def test_under_replace_one_it_is_public_and_costs_nothing() -> None:
    for count in (False, True):
        release = fim.mine(DATA, top=3, supports=True, seed=1, neighbors="replace-one", count=count)
        assert (release.units, release.units_interval) == (2000, None)
        assert "count" not in {share.purpose for share in release.shares}
        assert release.share_of(release[0]) == (release[0].support or 0) / 2000
        assert all(itemset.share_interval is None for itemset in release)


def test_counts_have_it_too() -> None:
    for delta in (1e-6, 0):
        release: Any = fim.count(DATA, [["bread"], ["jam"]], count=True, delta=delta)
        assert share_for(release, "count").fraction == TWENTIETH
        assert sum(share.fraction for share in release.shares) == 1
        assert release.noise.kind is NoiseKind.LAPLACE
        assert abs((release.units or 0) - 2000) < 500
    given = [[f"item {n}"] for n in range(200)]
    many = fim.count(DATA, given, count=True, seed=1)
    assert many.cost == PrivacyCost(1, 1e-6)
    assert len(many.shares) == 1
    assert many == fim.count(DATA, given, seed=1)
    spent = share_for(many, "supports").mu_squared or 0
    assert many.noise == SupportNoise.with_units(Fraction(spent), 200)
    bought = fim.count(VISITS, given, count=True, seed=1, **CHOSEN)
    spent = share_for(bought, "supports").mu_squared or 0
    assert share_for(bought, "count").mu_squared == spent / 19
    assert bought.noise == SupportNoise.for_mu_squared(Fraction(spent), 200)
    exact = fim.count(DATA, [["bread"]], neighbors="replace-one", count=True)
    assert (exact.units, len(exact.shares)) == (2000, 1)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("asked", [{"epsilon": 0.3}, {"epsilon": 0.3, "delta": 0}, {"rho": 0.0005}])
@pytest.mark.full
def test_intervals_of_shares_cover(asked: dict[str, Any]) -> None:
    runs, covered = 500, Counter[Any]()
    for seed in range(runs):
        release = fim.count(DATA, list(SUPPORTS), count=True, seed=seed, **asked)
        for itemset in release:
            bounds = release.share_interval_of(itemset)
            covered[itemset.items] += bounds[0] <= SUPPORTS[itemset.items] / 2000 <= bounds[1]  # type: ignore[index]
    least = 0.95 - 3.5 * math.sqrt(0.05 * 0.95 / runs)
    assert min(covered.values()) >= least * runs
    assert sum(covered.values()) >= 0.95 * runs * len(SUPPORTS)
