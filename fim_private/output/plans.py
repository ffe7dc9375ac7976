"""The plan of a release as text for a screen: its steps, their noise and their cost."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from fim_private.dp.accountant import Step
from fim_private.dp.cost import least_in_words, rounded_up
from fim_private.mining.mine import Prepared
from fim_private.output.releases import NOISE
from fim_private.output.screen import Grid, Screen
from fim_private.release import words
from fim_private.request.plan import ReleasePlan, noise_of, step_in_words

# The steps of levelwise, one by one.
_NAMES = {
    "items": "finding items",
    "candidates": "finding sets of {}",
    "first count": "counting candidates",
    "histogram": "candidates of a unit",
    "second count": "counting the best again",
    "item count": "counting items",
    "set count": "counting sets",
}


def render_plan(prepared: Prepared, screen: Screen) -> str:
    """Return what `mine` would do: its steps as a table, and what they cost together."""
    plan, unit = prepared.plan, prepared.run.unit
    title = Text("The plan. No purchases were read, and nothing was charged.", style="bold")
    rows = [_row(plan, step, unit) for step in plan.steps]
    columns = ("step", "budget", "it spends", "noise", f"95 % ({unit}s)")
    return screen.render(
        [title, Grid(columns, rows, text=(0, 2, 3)), *map(Text, _remarks(prepared))]
    )


def _row(plan: ReleasePlan, step: Step, unit: str) -> tuple[str, ...]:
    half_width = plan.half_width_of(step)
    return (
        _NAMES.get(step.purpose, step_in_words(step)).format(*step.sizes),
        f"{100 * float(step.fraction):.1f} %",
        _spent_in_words(step),
        _noise_in_words(plan, step),
        "" if half_width is None else f"± {half_width:,}",
    )


def _spent_in_words(step: Step) -> str:
    """Return what a step spends, in the terms in which the plan adds up."""
    if step.mu_squared is not None:
        return f"μ² = {rounded_up(step.mu_squared, 3)}"
    if step.rho is not None:
        return f"ρ = {least_in_words(step.rho)}"
    spent = f"ε = {least_in_words(step.epsilon or 0)}"
    if step.delta:
        spent += f", δ = {least_in_words(step.delta)}"
    return spent


def _noise_in_words(plan: ReleasePlan, step: Step) -> str:
    """Return the noise of a step, or the choices that it makes."""
    if step.choices is not None:
        epsilon = least_in_words(step.choices.epsilon)
        if step.choices.count == 1:
            return f"a choice with ε = {epsilon}"
        return f"{step.choices.count:,} choices with ε = {epsilon} each"
    noise = None
    if step.purpose == "supports":
        noise = plan.noise(plan.most_supports)
    elif step.purpose == "count":
        noise = noise_of(step, 1)
    kind = "rounded normal"
    if noise is not None:
        kind = NOISE.get(noise.kind, kind)
    return kind


def _remarks(prepared: Prepared) -> Iterator[str]:
    """Yield what comes out, and what all steps cost together."""
    plan, request, spending = prepared.plan, prepared.request, prepared.spending
    sought = request.target.sought
    kinds = words.itemsets_of(request.target.sizes, sought)
    supports = "without supports" if request.supports_share is None else "with noisy supports"
    verb = "comes" if sought == 1 else "come"
    yield f"At most {sought:,} {kinds} {verb} out, {supports}."
    if plan.most_supports > 1 and request.supports_share is not None:
        yield (
            f"With 95 % probability a support is that near to the truth if all "
            f"{plan.most_supports:,} come out. Fewer have less noise."
        )
    if plan.names_delta:
        yield (
            f"δ = {least_in_words(plan.names_delta)} is for the chance that an item is revealed "
            f"which only one {prepared.run.unit} has."
        )
    cost, zcdp = spending.cost, spending.entry_zcdp
    yield (
        f"The release costs ε = {least_in_words(cost.epsilon)}, δ = {least_in_words(cost.delta)}. "
        f"A ledger that adds up zCDP is charged ρ = {least_in_words(zcdp.rho)}, "
        f"δ = {least_in_words(zcdp.delta)}."
    )
    segments = prepared.run.reading.parts
    if segments is not None:
        yield (
            f"This is the plan of each of {words.number_of(len(segments.names), 'release')}; the "
            f"cost is that of all of them for a {prepared.run.unit} that counts in "
            f"{segments.most:,}."
        )
