"""How a budget becomes noise: the budget of a request is split into the steps of a plan.

1. The caller gives (ε, δ), or (ρ, δ). It is parsed once, into a `PrivacyBudget`.
2. `plan_of` decides how the steps add up, and so what they share:

   - Those of levelwise share μ² of Gaussian privacy (docs/privacy.md, Theorem 13).
   - Those of any other mechanism share ρ of zCDP if ρ was given (Theorem 16).
   - Otherwise they share ε by basic composition. If there is a δ, and every choice bounds the range
     of its odds, they may share ρ instead: whichever needs less support (Theorem 8).
   - Given itemsets have no choices. They share ε, or μ² if intervals are narrower with it.

   A ρ that was given is shared as it is, or as μ² = 2ρ. An (ε, δ) is first converted into the
   largest ρ or μ² that implies it. Before that a part of δ, δ₀, is set aside where a mechanism may
   name an item that only one unit has. It bounds the chance of that.
3. Each step gets a share. supports_share and count_share are for the supports and the number of
   units; the rest is for finding itemsets, in equal parts for several selections. A plan that
   counts given itemsets has no selection.
4. The noise of a step follows from what it spends, from how many numbers or choices it is for, and
   from what one unit can change:

       k supports or numbers of units   discrete Laplace of scale k/ε, discrete Gaussian of
                                        σ² = k/(2ρ), or rounded normal of σ² = k/μ²
                                        (`plan.noise_of`, `supports.SupportNoise`). Under
                                        add-remove two normals give the number of units as well.
       k choices, one after the other   each with ε/k; of ρ with √(8ρ/k) if their odds have a
                                        bounded range, else √(2ρ/k) (`mechanisms.top_k`). Of ε′,
                                        the exponential mechanism and its kin draw an itemset of
                                        support s by weight exp(ε′s), or exp(ε′s/2) under
                                        replace-one.
       a count of levelwise             rounded normal of σ² = Δ²/μ², where Δ² is how far a unit
                                        can move all of its weights (`GaussianBudget.variance`).

Nothing is drawn here. `run.outcome` draws, by the functions of `dp.noise`, from the operating
system's generator, after the ledger was charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from fim_private.dp.accountant import Step, StepComposition
from fim_private.dp.composition import PrivacyBudget
from fim_private.dp.cost import Exact
from fim_private.dp.parameters import EPSILON_RANGE
from fim_private.errors import ParameterError, parameter
from fim_private.levelwise.levelwise import levelwise
from fim_private.levelwise.recipe import Sought
from fim_private.mechanisms import registry
from fim_private.mechanisms.base import PublicParameters
from fim_private.mechanisms.top_k import Build, TopK, is_bounded_range
from fim_private.request.plan import LeftOut, ReleasePlan, Selection, noise_of
from fim_private.request.request import COUNT_SHARE, Request

_NOTHING = Fraction(0)
# The share of δ for abstaining, if selections are composed in zCDP.
_NAMES_SHARE = Fraction(1, 2)
_WIDEST = 1 << 56
_LEAST_EPSILON = Fraction(repr(EPSILON_RANGE[0]))


def checked_plan(request: Request) -> ReleasePlan:
    """Return the plan of a request; ParameterError if supports had noise beyond 64 bits."""
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


def plan_of(request: Request) -> ReleasePlan:
    """Return the plan of a request.

    supports_share and count_share of the budget go to these steps, the rest in equal parts to the
    selections. Raises ParameterError for a mechanism that lacks what must be public, and for a step
    that is out of range.
    """
    if request.mechanism.composed:
        return _by_gaussian_composition(request)
    selections = request.selection_parameters()
    if request.budget.rho is not None:
        return _by_zcdp_composition(request, selections)
    basic = _by_basic_composition(request, selections)
    all_are_bounded = all(is_bounded_range(run.mechanism) for run in basic.top_k_runs)
    if not request.budget.delta or not all_are_bounded:
        return basic
    concentrated = _by_zcdp_composition(request, selections)
    most_supports = request.target.top * len(selections)

    def needed(plan: ReleasePlan) -> float:
        return max(run.margin for run in plan.top_k_runs) + plan.half_width(most_supports)

    return concentrated if needed(concentrated) < needed(basic) else basic


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
    count_share = COUNT_SHARE if with_count else _NOTHING
    plans = []
    if budget.epsilon is not None:
        steps = _sharing_epsilon(_extra_steps(sizes, 1 - count_share, count_share), budget.epsilon)
        if budget.delta and not joint_noise:  # two normals have a plan of their own
            normal = replace(steps[0], delta=Exact(budget.delta))
            if noise_of(normal, number).half_width < noise_of(steps[0], number).half_width:
                steps[0] = normal
        plans.append(ReleasePlan(tuple(steps), budget, StepComposition.BASIC, most_supports=number))
    if budget.epsilon is None or (budget.delta and (with_count or joint_noise)):
        if joint_noise:
            count_share = _NOTHING
        steps = _sharing_mu_squared(
            _extra_steps(sizes, 1 - count_share, count_share),
            budget.mu_squared_for_steps(_NOTHING),
        )
        plans.append(
            ReleasePlan(
                tuple(steps),
                budget,
                StepComposition.GAUSSIAN,
                joint_noise=joint_noise,
                most_supports=number,
            )
        )
    plan = min(plans, key=lambda plan: plan.half_width(number))
    # The ρ of its noise is known exactly.
    supports, *count = plan.steps
    noise = noise_of(supports, number, joint=plan.joint_noise)
    return replace(plan, steps=(replace(supports, noise_rho=noise.rho), *count))


def _sharing_epsilon(steps: Iterable[Step], epsilon: Fraction) -> list[Step]:
    """Return the steps with their shares of an ε. They spend no δ as yet."""
    return [replace(step, epsilon=Exact(epsilon * step.fraction), delta=Exact(0)) for step in steps]


def _sharing_mu_squared(steps: Iterable[Step], mu_squared: Fraction) -> list[Step]:
    """Return the steps with their shares of a μ²."""
    return [replace(step, mu_squared=Exact(mu_squared * step.fraction)) for step in steps]


def _extra_steps(
    sizes: tuple[int, ...], supports_share: Fraction | None, count_share: Fraction | None
) -> list[Step]:
    """Return the steps for supports and for the number of units, as far as they have a share."""
    steps = [
        Step("supports", sizes, supports_share or _NOTHING),
        Step("count", (), count_share or _NOTHING),
    ]
    return [step for step in steps if step.fraction]


def _steps_of(request: Request, selections: Sequence[Selection]) -> list[Step]:
    """Return what the budget of a request is used for: selections, supports, number of units."""
    share_of_each = request.search_share / len(selections)
    steps: list[Step] = []
    for selection in selections:
        run = selection.run
        if isinstance(run, TopK):
            steps.append(
                Step("selection", selection.public.sizes, share_of_each, choices=run.choices)
            )
        else:
            steps += [
                Step(purpose, sizes, share_of_each * share) for purpose, sizes, share in run.steps
            ]
    target = request.target
    return steps + _extra_steps(target.sizes, request.supports_share, request.count_share)


def _selections_of(
    request: Request,
    selections: Sequence[PublicParameters],
    composed: Callable[[Build, int], TopK],
) -> tuple[Selection, ...]:
    """Return the selections that pick itemsets one by one.

    composed: returns so many choices by a mechanism that is built, within their share of the
    budget.
    """
    return tuple(
        Selection(
            composed(partial(registry.build, request.mechanism, public=public), public.top),
            public,
            request.counted_universe,
        )
        for public in selections
    )


def _by_basic_composition(request: Request, public: Sequence[PublicParameters]) -> ReleasePlan:
    """Split (ε, δ) by basic composition. δ is spent only where it is needed."""
    epsilon, number = request.budget.epsilon, len(public)
    assert epsilon is not None
    supports_delta = _delta_for_supports(request, epsilon, request.target.top * number)
    joint_noise = request.has_joint_noise and supports_delta > 0
    if joint_noise:
        request = request.without_count_step()
    delta = (request.budget.delta - supports_delta) / number
    selection_epsilon = epsilon * request.search_share / number
    selections = _selections_of(
        request,
        public,
        lambda build, top: TopK.by_basic_composition(build, top, selection_epsilon, delta),
    )
    steps = _sharing_epsilon(_steps_of(request, selections), epsilon)
    plan = _plan_with(request, steps, StepComposition.BASIC, selections, joint_noise=joint_noise)
    deltas = {"supports": supports_delta}
    if any(run.mechanism.cost.delta for run in plan.top_k_runs):
        deltas["selection"] = delta
    return replace(
        plan,
        steps=tuple(
            replace(step, delta=Exact(deltas.get(step.purpose, _NOTHING))) for step in plan.steps
        ),
    )


def _plan_with(
    request: Request,
    steps: Sequence[Step],
    composition: StepComposition,
    selections: tuple[Selection, ...],
    *,
    joint_noise: bool,
    names_delta: Fraction = _NOTHING,
) -> ReleasePlan:
    """Return the plan of a request that takes these steps."""
    target = request.target
    left_out = LeftOut.UNCLEAR
    if request.mechanism.composed and target.min_support is None:
        left_out = LeftOut.UNCLEAR_IF_NONE_IS_SURE
    if target.keep_all:
        left_out = LeftOut.NONE
    return ReleasePlan(
        tuple(steps),
        request.budget,
        composition,
        selections,
        names_delta=names_delta,
        joint_noise=joint_noise,
        left_out=left_out,
        min_support=target.min_support,
        most=target.top,
        most_supports=target.most_supports,
    )


def _delta_for_supports(request: Request, epsilon: Fraction, count: int) -> Fraction:
    """Return the δ that noise on `count` supports spends: none if Laplace noise is as narrow."""
    share = request.supports_share
    if not share or not request.budget.delta:
        return _NOTHING
    delta = request.budget.delta * share
    normal = Step("supports", (), share, Exact(epsilon * share), Exact(delta))
    normal_width = noise_of(normal, count, joint=request.has_joint_noise).half_width
    laplace_width = noise_of(replace(normal, delta=None), count).half_width
    return delta if normal_width < laplace_width else _NOTHING


def _by_zcdp_composition(request: Request, public: Sequence[PublicParameters]) -> ReleasePlan:
    """Split the budget in zCDP (docs/privacy.md, Theorems 8 and 16).

    A share of δ is for abstaining, if that needs any. The rest converts between ε and ρ.
    """
    joint_noise = request.has_joint_noise
    if joint_noise:
        request = request.without_count_step()
    budget, number = request.budget, len(public)
    # Built only to see whether the mechanism spends δ.
    whole = registry.build(request.mechanism, budget.loss, budget.delta, public[0])
    names_delta = budget.delta_for_names(_NAMES_SHARE) if whole.cost.delta else _NOTHING
    rho = budget.rho_for_steps(names_delta)
    selection_rho = rho * request.search_share / number
    if 2 * selection_rho / request.target.top < _LEAST_EPSILON**2:  # the ε of a choice
        raise ParameterError(
            f"{_budget_name(budget)} leaves next to nothing for each itemset; raise it, or ask for "
            f"fewer"
        )
    selections = _selections_of(
        request,
        public,
        lambda build, top: TopK.by_zcdp_composition(
            build, top, selection_rho, names_delta / number
        ),
    )
    return _plan_with(
        request,
        [replace(step, rho=Exact(rho * step.fraction)) for step in _steps_of(request, selections)],
        StepComposition.ZCDP,
        selections,
        joint_noise=joint_noise,
        names_delta=names_delta,
    )


def _by_gaussian_composition(request: Request) -> ReleasePlan:
    """Split the budget in Gaussian differential privacy (docs/privacy.md, Theorem 13).

    One run of levelwise is for all sizes.
    """
    target, universe = request.target, request.counted_universe
    public = request.selection_of(target.sizes)
    sought = Sought(
        sizes=target.sizes,
        count=target.top,
        union=target.union,
        by_user=request.promise.by_user,
        listed=universe.is_listed,
        epsilon=request.budget.loss,
        neighbors=request.promise.neighbors,
    )
    run = levelwise(
        sought,
        request.budget,
        part=request.search_share,
        keep_all=target.keep_all,
        threshold=target.min_support is not None,
        known=target.known,
    )
    selections = (Selection(run, public, universe),)
    return _plan_with(
        request,
        _sharing_mu_squared(_steps_of(request, selections), run.budget.mu_squared),
        StepComposition.GAUSSIAN,
        selections,
        joint_noise=request.has_joint_noise,
        names_delta=run.items_delta or _NOTHING,
    )
