"""How a budget becomes noise: the budget of a request is split into the steps of a plan.

1. The caller gives (ε, δ), or (ρ, δ). It is parsed once, into a `PrivacyBudget`.
2. `plan_of` decides how the steps add up, and so what they share:

   - Those of levelwise share μ² of Gaussian privacy (docs/privacy.md, Theorem 13). If a look at
     the data may settle the mechanism, picks that replace them share the same μ² (Theorem 33).
   - Those of any other mechanism share ρ of zCDP if ρ was given (Theorem 16).
   - Otherwise they share ε by basic composition. With a δ, mechanisms whose choices have a bounded
     range (Theorem 8) may share ρ instead. Of the two plans the one that needs less support is
     taken.
   - Given itemsets are only counted. If ρ was given, the steps share μ², and otherwise ε or μ²:
     whichever makes intervals narrower.

   A ρ that was given is shared as it is, or as μ² = 2ρ. An (ε, δ) is converted into the largest ρ
   or μ² that implies it with (δ - δ₀)/(1 - δ₀). Here δ₀ bounds the chance that an item is named
   which only one unit has. Levelwise, and picks after a look, have δ₀ = δ/10. It is 0 if all items
   are listed, unless the picks may abstain. Of other mechanisms, those that spend δ have δ₀ = δ/2.
   (If ρ was given, δ₀ is δ/2 instead of δ/10, and ρ stays as it is.)
3. Each step gets a share. supports_share and count_share are for the supports and the number of
   units; the rest is for finding itemsets, in equal parts for several selections. By default
   supports get a third; with levelwise 10 to 15 %, or 40 % if there is a least support. The number
   of units gets 5 % if it is asked for and does not come with the supports (`request.request`).
   If there are segments or periods, the budget was divided among them before.
   Of δ, under basic composition, supports get their share if normal noise is narrower than Laplace
   noise. Choices get the rest if they need it.
4. The noise of a step follows from what it spends, from how many numbers or choices it is for, and
   from what one unit can change. The number k of supports is settled once the itemsets came out:
   until then a plan only says what they may spend.

       k supports or numbers of units   discrete Laplace of scale k/ε, discrete Gaussian of
                                        σ² = k/(2ρ), or rounded normal of σ² = k/μ²
                                        (`plan.noise_of`, `supports.SupportNoise`). A share of ε
                                        with some δ gets the narrowest. Under add-remove, with δ, it
                                        is two normals instead (joint noise), which are about half
                                        as wide, and give the number of units as well.
       k choices, one after the other   each with ε/k; of ρ with √(8ρ/k) if their odds have a
                                        bounded range, else √(2ρ/k) (`mechanisms.top_k`); of μ²
                                        with nearly √(4μ²/k) (`composition.choice_epsilon`). Of
                                        ε′, the exponential mechanism and its kin draw an itemset
                                        of support s by weight exp(ε′s), or exp(ε′s/2) under
                                        replace-one.
       a count of levelwise             rounded normal of σ² = Δ²/μ², with the μ² of this step. A
                                        unit moves all of its weights together by Δ at most, in the
                                        L2 norm (`GaussianBudget.variance`).

Nothing is drawn here. Mechanisms and `run.outcome` draw, by the functions of `dp.noise`, from the
operating system's generator, after the ledger was charged.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from fim_private import options as defaults
from fim_private.dp.accountant import Step, StepComposition
from fim_private.dp.composition import PrivacyBudget
from fim_private.dp.cost import Exact
from fim_private.dp.neighbors import Neighbors
from fim_private.dp.parameters import EPSILON_RANGE, of_parts
from fim_private.errors import ParameterError, parameter
from fim_private.levelwise.levelwise import levelwise, names_delta_of
from fim_private.levelwise.recipe import Sought
from fim_private.mechanisms import registry
from fim_private.mechanisms.base import PublicParameters
from fim_private.mechanisms.registry import MechanismSpec
from fim_private.mechanisms.top_k import TopK, is_bounded_range
from fim_private.request.groups import Target
from fim_private.request.plan import (
    EnoughItems,
    EnoughSupport,
    Look,
    ReleasePlan,
    Selection,
    noise_of,
)
from fim_private.request.request import COUNT_SHARE, Request

_NOTHING = Fraction(0)
# δ₀ as a share of δ, if selections that may name what only one unit has are composed in zCDP.
_NAMES_SHARE = Fraction(1, 2)
# A half width from which on supports with noise might not fit in 64 bits.
_WIDEST = 1 << 56
_LEAST_EPSILON = Fraction(repr(EPSILON_RANGE[0]))


def checked_plan(request: Request) -> ReleasePlan:
    """Return the plan of a request; ParameterError if noise might leave no support in 64 bits."""
    plan = plan_of(request)
    if plan.half_width(request.target.most_supports) >= _WIDEST:
        raise ParameterError(
            f"{parameter('supports_share')} leaves next to nothing for supports; raise it, or "
            f"{_budget_name(request.budget)}"
        )
    return plan


def _budget_name(budget: PrivacyBudget) -> str:
    name = "epsilon" if budget.rho is None else "rho"
    return parameter(name)


@of_parts()
def plan_of(request: Request) -> ReleasePlan:
    """Return the plan of a request.

    supports_share and count_share of the budget go to these steps, the rest in equal parts to the
    selections. Raises ParameterError for a mechanism that lacks what must be public, and for a
    budget that leaves a step too little.
    """
    if request.mechanism.composed:
        look = _look(request)
        if look is None:
            request = request.without_look()
        return replace(_by_gaussian_composition(request), look=look)
    public = [request.public_parameters(sizes) for sizes in request.target.rankings]
    if request.look_share:
        return _picks_by_gaussian_composition(request, public)
    if request.budget.rho is not None:
        return _by_zcdp_composition(request, public)
    basic = _by_basic_composition(request, public)
    all_are_bounded = all(is_bounded_range(run.mechanism) for run in basic.top_k_runs)
    if not request.budget.delta or not all_are_bounded:
        return basic

    def needed(plan: ReleasePlan) -> float:
        most_supports = request.target.most_supports
        return max(run.margin for run in plan.top_k_runs) + plan.half_width(most_supports)

    return min(basic, _by_zcdp_composition(request, public), key=needed)


def plan_of_given(
    budget: PrivacyBudget,
    sizes: tuple[int, ...],
    number: int,
    *,
    with_count: bool,
    joint_noise: bool,
) -> ReleasePlan:
    """Return the plan that counts given itemsets: the basic or the Gaussian one, by their noise.

    The one with the narrower intervals is taken.

    Args:
        budget: The budget of the whole plan.
        sizes: The sizes of the itemsets.
        number: How many itemsets there are, >= 1.
        with_count: Whether the number of units is a step of its own.
        joint_noise: Whether normal noise gives the number of units with the supports.
    """
    target = Target(sizes, number, union=True)
    count_share = COUNT_SHARE if with_count else _NOTHING
    plans = []
    if budget.epsilon is not None:
        supports, *count = (
            replace(step, epsilon=Exact(budget.epsilon * step.fraction), delta=Exact(0))
            for step in _extra_steps(sizes, 1 - count_share, count_share)
        )
        if not joint_noise:  # joint noise has the Gaussian plan below
            delta = _delta_for_supports(supports, budget.delta, number)
            supports = replace(supports, delta=Exact(delta))
        plans.append(ReleasePlan((supports, *count), budget, StepComposition.BASIC, target))
    # With one step and δ, the basic plan already has the normal noise of the Gaussian one.
    if budget.epsilon is None or (budget.delta and (with_count or joint_noise)):
        if joint_noise:
            count_share = _NOTHING
        steps = _sharing_mu_squared(
            _extra_steps(sizes, 1 - count_share, count_share),
            budget.mu_squared_for_steps(_NOTHING),
        )
        plans.append(
            ReleasePlan(
                tuple(steps), budget, StepComposition.GAUSSIAN, target, joint_noise=joint_noise
            )
        )
    plan = min(plans, key=lambda plan: plan.half_width(number))
    # The ρ of its noise is known exactly.
    supports, *count = plan.steps
    noise = noise_of(supports, number, joint=plan.joint_noise)
    return replace(plan, steps=(replace(supports, noise_rho=noise.rho), *count))


def _sharing_mu_squared(steps: Iterable[Step], mu_squared: Fraction) -> list[Step]:
    """Return the steps with their shares of a μ²."""
    return [replace(step, mu_squared=Exact(mu_squared * step.fraction)) for step in steps]


def _extra_steps(
    sizes: tuple[int, ...], supports_share: Fraction, count_share: Fraction
) -> list[Step]:
    """Return the steps for supports and for the number of units, as far as they have a share."""
    steps = [Step("supports", sizes, supports_share), Step("count", (), count_share)]
    return [step for step in steps if step.fraction]


def _plan_of_runs(
    request: Request,
    public: Sequence[PublicParameters],
    runs: Sequence[TopK],
    composition: StepComposition,
    spending: Callable[[Step], Step],
    *,
    joint_noise: bool,
    names_delta: Fraction = _NOTHING,
) -> ReleasePlan:
    """Return the plan that selects itemsets one by one, with equal shares for several selections.

    Args:
        request: What is asked for.
        public: What is public of each selection.
        runs: What each selection runs.
        composition: How the steps add up.
        spending: Returns a step with what it spends of the budget.
        joint_noise: Whether normal noise on supports gives the number of units as well.
        names_delta: δ₀.
    """
    target, universe = request.target, request.counted_universe
    share = request.search_share / len(runs)
    selections, steps = [], []
    for parameters, run in zip(public, runs, strict=True):
        selections.append(Selection(run, parameters, universe))
        steps.append(Step("selection", parameters.sizes, share, choices=run.choices))
    steps = _steps_of_look(request) + steps
    steps += _extra_steps(target.sizes, request.supports_share, request.count_share)
    return ReleasePlan(
        tuple(map(spending, steps)),
        request.budget,
        composition,
        target,
        tuple(selections),
        names_delta,
        joint_noise,
    )


def _by_basic_composition(request: Request, public: Sequence[PublicParameters]) -> ReleasePlan:
    """Split (ε, δ) by basic composition. δ is spent only where it is needed."""
    budget, number, share = request.budget, len(public), request.supports_share
    epsilon = budget.epsilon
    assert epsilon is not None
    supports_delta = _NOTHING
    if share:
        supports_delta = _delta_for_supports(
            Step("supports", (), share, Exact(epsilon * share)),
            budget.delta * share,
            request.target.most_supports,
            joint=request.has_joint_noise,
        )
    joint_noise = request.has_joint_noise and supports_delta > 0
    if joint_noise:
        request = request.without_count_step()
    delta = (budget.delta - supports_delta) / number
    selection_epsilon = epsilon * request.search_share / number
    runs = [
        TopK.by_basic_composition(
            partial(registry.build, request.mechanism, public=parameters),
            parameters.top,
            selection_epsilon,
            delta,
        )
        for parameters in public
    ]
    deltas = {"supports": supports_delta}
    if any(run.mechanism.cost.delta for run in runs):
        deltas["selection"] = delta

    def spending(step: Step) -> Step:
        its_delta = Exact(deltas.get(step.purpose, _NOTHING))
        return replace(step, epsilon=Exact(epsilon * step.fraction), delta=its_delta)

    return _plan_of_runs(
        request, public, runs, StepComposition.BASIC, spending, joint_noise=joint_noise
    )


def _delta_for_supports(
    laplace: Step, delta: Fraction, count: int, *, joint: bool = False
) -> Fraction:
    """Return the δ that noise on `count` supports spends: none if Laplace noise is as narrow.

    Args:
        laplace: The step for supports with its ε, and without δ.
        delta: What it may spend.
        count: How many supports there are.
        joint: Whether normal noise gives the number of units as well.
    """
    normal = replace(laplace, delta=Exact(delta))
    normal_width = noise_of(normal, count, joint=joint).half_width
    return delta if normal_width < noise_of(laplace, count).half_width else _NOTHING


def _by_zcdp_composition(request: Request, public: Sequence[PublicParameters]) -> ReleasePlan:
    """Split the budget in zCDP (docs/privacy.md, Theorems 8 and 16).

    A share of δ is for abstaining, if that needs any. The rest converts between ε and ρ.
    """
    joint_noise = request.has_joint_noise
    if joint_noise:
        request = request.without_count_step()
    budget, number = request.budget, len(public)
    # Built only to see whether it spends δ: another form of the mechanism may stand in for it.
    whole = registry.build(request.mechanism, budget.loss, budget.delta, public[0])
    names_delta = budget.delta_for_names(_NAMES_SHARE) if whole.cost.delta else _NOTHING
    rho = budget.rho_for_steps(names_delta)
    selection_rho = rho * request.search_share / number
    # √(2ρ/k) is the least that a choice may get as its ε.
    if 2 * selection_rho / request.target.top < _LEAST_EPSILON**2:
        raise ParameterError(
            f"{_budget_name(budget)} leaves next to nothing for each itemset; raise it, or ask for "
            f"fewer"
        )
    runs = [
        TopK.by_zcdp_composition(
            partial(registry.build, request.mechanism, public=parameters),
            parameters.top,
            selection_rho,
            names_delta / number,
        )
        for parameters in public
    ]
    return _plan_of_runs(
        request,
        public,
        runs,
        StepComposition.ZCDP,
        lambda step: replace(step, rho=Exact(rho * step.fraction)),
        joint_noise=joint_noise,
        names_delta=names_delta,
    )


def _by_gaussian_composition(request: Request) -> ReleasePlan:
    """Split the budget in Gaussian differential privacy (docs/privacy.md, Theorem 13).

    One run of levelwise is for all sizes.
    """
    target, universe = request.target, request.counted_universe
    public = request.public_parameters(target.sizes)
    sought = Sought(
        sizes=tuple(size - len(target.known.required) for size in target.sizes),
        count=target.top,
        union=target.union,
        by_user=request.promise.by_user,
        listed=universe.is_listed,
        epsilon=request.budget.loss,
        neighbors=request.promise.neighbors,
        known=target.known,
        questions=target.questions,
        keep_all=target.keep_all,
    )
    names_delta = _names_delta(request)
    run = levelwise(
        sought,
        request.budget,
        names_delta,
        part=request.search_share / target.levels,
        threshold=target.min_support is not None,
    )
    share = request.search_share
    steps = _steps_of_look(request)
    steps += [replace(step, fraction=share * step.fraction) for step in run.steps]
    steps += _extra_steps(target.sizes, request.supports_share, request.count_share)
    return ReleasePlan(
        tuple(_sharing_mu_squared(steps, run.budget.mu_squared)),
        request.budget,
        StepComposition.GAUSSIAN,
        target,
        (Selection(run, public, universe),),
        names_delta,
        request.has_joint_noise,
    )


def _names_delta(request: Request) -> Fraction:
    """Return δ₀: the same for levelwise and for what a look may choose instead.

    It is 0 if all items are listed, unless the mechanism that picks needs it for abstaining.
    """
    spec = request.mechanism if request.picks is None else registry.spec_named(request.picks)
    if request.counted_universe.is_listed and not _may_abstain(spec):
        return _NOTHING
    return names_delta_of(request.budget)


def _may_abstain(spec: MechanismSpec) -> bool:
    """Tell whether a mechanism picks itemsets one by one, and may abstain, which δ pays for."""
    return spec.spends_delta and not spec.composed


# -------------------- a look at the data


class _Threshold(NamedTuple):
    """From which noisy support on picks find more than levelwise.

    It is a(k/20)^g · x/(1 + min(bσ/n, m)). Here k is how many itemsets are sought, x the support
    that makes an itemset likely to be picked, σ the deviation of the noise on one support that the
    look's μ² buys, and n the number of units. Source: measured on samples and halves of five shops,
    of 500 units and more, where the loss was least.

    Attributes:
        ample: a.
        growth: g.
        per_noise: b.
        most_lenient: m.
    """

    ample: float
    growth: float = 0
    per_noise: float = 0
    most_lenient: float = math.inf


_WITHOUT_LIST = _Threshold(1.15, per_noise=15, most_lenient=0.55)
_OF_LIST = _Threshold(1, growth=0.25)
_OF_LIST_BY_LIMITED_DOMAIN = _Threshold(1.2, per_noise=4)
_USUAL_COUNT = 20
# Picks find more of k listed items than levelwise if this share of the users have k of them, or
# more. Source: as of the thresholds.
_SHARE_WITH_AS_MANY = 0.65


def _steps_of_look(request: Request) -> list[Step]:
    """Return the step that settles the mechanism; none if it is settled."""
    if not request.look_share:
        return []
    return [Step("look", request.target.sizes, request.look_share)]


def _look(request: Request) -> Look | None:
    """Return the look that decides between levelwise and picks; None if there is none."""
    if request.picks is None:
        return None
    request = request.with_picks()
    try:
        plan = plan_of(request)
    except ParameterError:  # some step is out of range
        return None
    [selection], [run], look_step = plan.selections, plan.top_k_runs, plan.step("look")
    assert look_step is not None
    candidates = selection.public.candidates
    if candidates is not None and candidates <= run.count:  # no itemset is left out
        return None
    if request.counted_universe.is_listed and request.target.sizes == (1,):
        return Look(EnoughItems(run.count, _SHARE_WITH_AS_MANY), request, plan)
    return Look(_enough_support(request, run, candidates, look_step), request, plan)


def _enough_support(
    request: Request, run: TopK, candidates: int | None, look: Step
) -> EnoughSupport:
    """Return which support of itemsets is enough to pick them.

    An itemset is likely to be picked once its weight is that of all other candidates together, or
    of abstaining.

    Args:
        request: The request for the mechanism that picks.
        run: Its picks.
        candidates: How many itemsets it picks from, if that is public.
        look: The step of the look.
    """
    cost = run.mechanism.cost
    if candidates is None or _may_abstain(request.mechanism):
        log_odds = math.log(defaults.MAX_RANK) - math.log(cost.delta)
    else:
        log_odds = math.log(candidates)
    likely = log_odds * Neighbors(request.promise.neighbors).changed_units / cost.epsilon
    threshold = _threshold_of(request)
    most = threshold.ample * (run.count / _USUAL_COUNT) ** threshold.growth * likely
    least = most / (1 + threshold.most_lenient)
    leniency = threshold.per_noise / math.sqrt(look.normal_mu_squared)
    return EnoughSupport(math.ceil(most), math.ceil(least), math.ceil(leniency))


def _threshold_of(request: Request) -> _Threshold:
    """Return the threshold for the mechanism that picks."""
    if not request.counted_universe.is_listed:
        return _WITHOUT_LIST
    return _OF_LIST_BY_LIMITED_DOMAIN if _may_abstain(request.mechanism) else _OF_LIST


def _picks_by_gaussian_composition(
    request: Request, public: Sequence[PublicParameters]
) -> ReleasePlan:
    """Split the budget in Gaussian privacy, as after a look (docs/privacy.md, Theorem 33).

    δ₀ is that of levelwise: both plans cost the same.
    """
    names_delta = _names_delta(request)
    mu_squared = request.budget.mu_squared_for_steps(names_delta)
    [parameters] = public
    run = TopK.by_gaussian_composition(
        partial(registry.build, request.mechanism, public=parameters),
        parameters.top,
        mu_squared * request.search_share,
        mu_squared * request.supports_share,
        names_delta,
    )
    return _plan_of_runs(
        request,
        public,
        [run],
        StepComposition.GAUSSIAN,
        lambda step: replace(step, mu_squared=Exact(mu_squared * step.fraction), choices=None),
        joint_noise=request.has_joint_noise,
        names_delta=names_delta,
    )
