"""Releases and their rules, what changed between two of them, votes, and the plan of a release, as
text for a screen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.rule import Rule
from rich.text import Text

from fim_private.display import Table, printable
from fim_private.dp.accountant import Step, total_mu_squared, total_rho
from fim_private.dp.cost import least_in_words, rounded_up
from fim_private.learning.voting import Vote
from fim_private.options import option_name
from fim_private.output.screen import Block, Grid, Screen, bold
from fim_private.planning.advice import LARGEST_EPSILON
from fim_private.planning.forecast import list_gain
from fim_private.release import words
from fim_private.release.changes import Changes
from fim_private.release.release import Release
from fim_private.release.rules import Rules, RulesBySegment
from fim_private.release.segments import SegmentedRelease
from fim_private.request.groups import itemsets_of
from fim_private.request.plan import (
    EnoughItems,
    Look,
    ReleasePlan,
    shares_in_words,
    step_in_words,
)
from fim_private.request.request import Request
from fim_private.request.supports import NoiseKind

if TYPE_CHECKING:
    from fim_private.mining.mine import Prepared

# From this share of the budget on, more for supports would leave too little to find itemsets.
_HIGH_SHARE = 0.7
# A dry run says what support is enough for this many users.
_FEW_USERS = 1_000
# The names of noise on supports that is not rounded normal.
NOISE = {NoiseKind.LAPLACE: "discrete Laplace", NoiseKind.GAUSSIAN: "discrete Gaussian"}
# Writes a request with some parameters changed.
Spelled = Callable[[Mapping[str, object]], str] | None


def render_table(
    release: Release | SegmentedRelease,
    screen: Screen,
    *,
    spelled: Spelled = None,
    rules: RulesBySegment | None = None,
    advise: bool = True,
) -> str:
    """Return a release as text: the itemsets, what to ask instead, and the guarantee.

    Of rules that go with a basket, nothing but these and the guarantee is shown.

    Args:
        release: One, or those of segments or periods.
        screen: Where it is shown.
        spelled: Writes a request as a command; by default it is a call of Python.
        rules: Those of each segment under its name; those of a Release under no name.
        advise: Whether to say what to ask instead. A file is handed on, and has no use for it.
    """
    by_segment, releases, whole = rules or {}, release.by_segment, release.whole
    if any(segment.choice.basket is not None for segment in by_segment.values()):
        return screen.render([*_recommended(by_segment), release.guarantee])
    remarks = {
        name: [*_remarks(segment)] for name, segment in releases.items() if not segment.abstained
    }
    common = _common([*remarks.values()], len(releases))
    blocks: list[Block] = []
    for name, segment in releases.items():
        if name:
            heading = segment.heading
            blocks.append(Rule(bold(heading), align="left"))
        blocks += _itemsets(segment, by_segment.get(name))
        blocks += [line for line in remarks.get(name, []) if line not in common]
    if "" not in releases:
        blocks.append(Rule())
    if advise:
        blocks += _all_advice([*releases.values()], spelled, [*by_segment.values()])
    sentences = (*common, *whole.rows_read, *words.promises(whole))
    return screen.render([*blocks, *sentences])


def _common(remarks: Sequence[Sequence[str]], releases: int) -> list[str]:
    """Return the remarks that all of several releases share, or those of the only release."""
    if not remarks or (len(remarks) == 1 and releases > 1):
        return []
    return [line for line in remarks[0] if all(line in lines for lines in remarks)]


def _all_advice(
    releases: Sequence[Release], spelled: Spelled, rules: Sequence[Rules]
) -> Iterator[str | Text]:
    """Yield what to ask instead of the request of releases, and for what else."""
    # A request is for all segments: it must not ask for less where some came out.
    nonempty = [release for release in releases if release.itemsets]
    smallest = min(nonempty or releases, key=len)
    yield from _advice(smallest, spelled)
    is_empty = smallest.min_support is None and not smallest.itemsets
    if is_empty and smallest.counted and not smallest.keep_all:
        yield "--keep-all shows some that do not stand out."
    first, request = releases[0], releases[0].request
    if request is None:  # it was loaded
        return
    yield from _advice_on_rules(request, rules, first.privacy_unit)
    if first.privacy_unit == "user":
        units = first.units
        if len(releases) > 1:  # a forecast for one segment says nothing about the others
            units = None
        came_out = len(first.itemsets) / first.wanted
        gain = list_gain(request, units=units, came_out=came_out)
        if gain is not None:
            yield gain.spelled(option_name)
        if request.target.sizes[-1] > 1 and not request.scope.unites:
            yield f"{words.IN_ONE_BASKET} --together user counts all who ever bought all of it."


def _advice_on_rules(request: Request, rules: Sequence[Rules], unit: str) -> Iterator[str]:
    """Yield what would make rules surer, and what would give them lifts."""
    if any(segment.doubtful.any() for segment in rules):
        fewer = "a smaller --top"
        if request.target.min_support is not None:
            fewer = "a larger --min-support"
        unsure = "The confidence that you asked for"
        if rules[0].has_lifts:
            unsure = "More often than chance"
        share = float(request.supports_share)
        changes = [fewer]
        if share < _HIGH_SHARE:
            changes.insert(0, f"a higher --supports-share (it was {share:.2g})")
        if request.budget.loss < LARGEST_EPSILON:
            changes.append("a larger budget")
        more = f"{', '.join(changes)}, or more {unit}s"
        yield f"{unsure} would be sure for more rules with {more}."
    if any(not segment.has_lifts for segment in rules):
        yield "--together user gives them lifts."


def _of_look(look: Look, sought: int) -> Iterator[str]:
    """Yield how a look decides between two plans. sought: how many itemsets."""
    condition = look.condition
    of_few_users = None
    if isinstance(condition, EnoughItems):
        measured = f"how many users have bought {condition.items:,} or more of the listed items"
        needed = f"{100 * condition.share:g} % of all users or more"
    else:
        measured = f"the support of the itemset of rank {sought + 1:,}"
        needed = f"{condition.most_needed:,} or more"
        if condition.leniency:
            of_few_users = math.ceil(condition.needed(_FEW_USERS))
    yield (
        f"The first step measures, with noise, {measured}. If the result is {needed}, "
        f"{look.request.mechanism.name} replaces the steps of levelwise. The cost is the same "
        f"either way, and the release says which mechanism was used."
    )
    if of_few_users is not None:
        yield f"With fewer users, less is enough: {of_few_users:,} for {_FEW_USERS:,} users."


def _itemsets(release: Release, rules: Rules | None) -> Iterator[Block]:
    """Yield the itemsets of a release, and its rules if there are any."""
    yield bold(release.title)
    if not release.abstained:
        columns, rows = release.columns, [*map(release.cells, release)]
        if not release.has_supports:
            columns, rows = (*columns, "support"), [(*cells, "not released") for cells in rows]
        yield Grid(columns, rows)
        yield from release.certainty
    if rules is not None and release.itemsets:
        yield from _of_rules(rules)
    if release.min_support is None and 0 < len(release.itemsets) < release.wanted:
        came_out = f"{len(release.itemsets):,} of {release.wanted:,} came out"
        yield f"{came_out}: {_why_no_more(release)}."


def _of_rules(rules: Rules) -> Iterator[Block]:
    """Yield rules, and how to see those that are left out."""
    yield from _blocks(rules.table())
    if rules.left_out:
        yield "Show all with --redundant --max-consequent N."


def _recommended(rules: RulesBySegment) -> Iterator[Block]:
    """Yield the rules that go with a basket, those of each segment under its name."""
    for name, segment_rules in rules.items():
        if name:
            yield Rule(bold(printable(name)), align="left")
        yield from _of_rules(segment_rules)


def _why_no_more(release: Release) -> str:
    """Return why fewer itemsets came out than were asked for."""
    if release.counted and release.keep_all:
        return "no others were found"
    if release.counted:
        return "the others do not stand out from the noise (--keep-all shows some of them)"
    abstained = "the mechanism abstained on the others"
    if release.noise is None or release.keep_all:
        return abstained
    return f"{abstained}, or their noisy supports do not stand out from 0 (--keep-all shows these)"


def _advice(release: Release, spelled: Spelled) -> Iterator[str | Text]:
    """Yield what to ask instead of the request of a release."""
    if release.advice is not None:
        call = release.advice.call
        if spelled is not None:
            call = spelled(release.advice.changes)
        purpose = "To find more" if release.itemsets else "To try"
        # Alone on its line, and never wrapped, so that it can be copied.
        yield Text(f"{purpose}: {printable(call)}", no_wrap=True)
        yield release.advice.explanation
    elif release.hopeless is not None:
        yield release.hopeless


def nothing_came_out(release: Release | SegmentedRelease, spelled: Spelled = None) -> str:
    """Return in one line that a release is empty, and what to try.

    spelled: as render_table takes it.
    """
    first, *_ = release.by_segment.values()
    advice = next(_advice(first, spelled), None)
    if advice is None:
        # Advice is reckoned for one request, and a release of several periods has none of its own.
        return "Nothing came out. Try a larger budget, or longer or fewer periods."
    return f"Nothing came out. {advice}"


def _remarks(release: Release) -> Iterator[str]:
    """Yield sentences on how a release was made, and how to read its supports."""
    if release.reason is not None:
        yield f"Mechanism {release.mechanism}, chosen by --mechanism auto: {release.reason}."
    if len(release.shares) > 1:
        budget = "The budget"
        if release.scope.max_segments > 1:
            budget = f"The budget of each {release.kind_of_part}"
        yield f"{budget} was split: {_split(release.shares)}."
    unit = release.privacy_unit
    units = words.units_of(release, unit)
    if release.noise is not None:
        near, kind = release.noise.half_width, NOISE.get(release.noise.kind, "rounded normal")
        if release.is_pooled:
            yield (
                f"Each support is estimated with the help of the others, and 95 % of these "
                f"intervals hold the true number. --intervals exact shows each support by itself, "
                f"which is within {near:,} {units} of the truth with 95 % probability ({kind} "
                f"noise)."
            )
        else:
            yield (
                f"Each support is within {near:,} {units} of the truth with 95 % probability "
                f"({kind} noise)."
            )
        if release.units is not None and release.units_interval is not None:
            low, high = release.units_interval
            yield (
                f"There are about {release.units:,} {units} in all ({low:,} to {high:,} with "
                f"95 % probability)."
            )
        elif release.units is not None:
            yield f"There are {release.units:,} {units} in all."
        if release.scope.per is not None:
            period = release.scope.per_in_words
            yield f"A {unit} with purchases in several {period}s counts once for each."
    if release.parts:
        yield (
            f"The rules also need the supports of {len(release.parts):,} subsets: --format "
            f"json lists them."
        )
    items, baskets = release.max_basket, release.max_baskets
    if items is not None:
        counted = f"At most {items:,} items of a basket"
        if baskets is not None:
            counted += f", and {words.number_of(baskets, 'basket')} of a user,"
        yield f"{counted} were counted. Supports in the whole data may be larger."


def _split(shares: tuple[Step, ...]) -> str:
    """Return how the budget was split among the steps of a release, in words."""
    mu_squared, rho = total_mu_squared(shares), total_rho(shares)
    if mu_squared:
        whole = f"μ² = {rounded_up(mu_squared, 3)} of Gaussian privacy"
    elif rho:
        whole = f"ρ = {least_in_words(rho)} of zero-concentrated privacy"
    else:
        steps = [
            f"{step_in_words(share)}: ε = {least_in_words(share.epsilon or 0)}, "
            f"δ = {least_in_words(share.delta or 0)}"
            for share in shares
        ]
        return "; ".join(steps)
    purposes = [
        f"{100 * float(share):.1f} % for {purpose}"
        for purpose, share in shares_in_words(shares).items()
    ]
    return f"{', '.join(purposes)} ({whole} in all; --format json lists the steps)"


def render_changes(changes: Changes, screen: Screen) -> str:
    """Return what changed between two releases as text."""
    return screen.render(_blocks(changes.table()))


def _blocks(table: Table) -> Iterator[Block]:
    """Yield a table under its title, and its notes."""
    yield bold(table.title)
    if table.rows:
        yield Grid(table.columns, table.rows, table.text_columns)
    yield from table.notes


def render_vote(vote: Vote, screen: Screen) -> str:
    """Return a vote as text: its answer, how it was made, and the guarantee."""
    answer = vote.text
    if not vote.abstained:
        answer = f"    {answer}"
    lines = (answer, *vote.remarks, *words.promises(vote))
    return screen.render([bold(vote.title), *lines])


# -------------------- the plan of a release: its steps, their noise and their cost

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


def render_release_plan(prepared: Prepared, screen: Screen) -> str:
    """Return what `mine` would do: its steps as a table, and what they cost together."""
    columns = ("step", "budget", "it spends", "noise", f"95 % ({prepared.run.unit}s)")
    blocks: list[Block] = [bold("The plan. No purchases were read, and nothing was charged.")]
    plans, levels = prepared.spending.plans, prepared.request.scope.groups
    for place, plan in enumerate(plans):
        if len(plans) > 1:
            blocks.append(bold(f"By {levels[place]}"))
        rows = [_step_cells(plan, step) for step in plan.steps]
        blocks.append(Grid(columns, rows, text=(0, 2, 3)))
    return screen.render([*blocks, *_plan_remarks(prepared)])


def _step_cells(plan: ReleasePlan, step: Step) -> tuple[str, ...]:
    """Return the row of a step: its name, its share, what it spends, and its noise or choices."""
    noise = plan.widest_noise(step)
    kind, half_width = "rounded normal", ""
    if noise is not None:
        kind = NOISE.get(noise.kind, kind)
        half_width = f"± {noise.half_width:,}"
    elif step.choices is not None:
        epsilon = least_in_words(step.choices.epsilon)
        kind = f"a choice with ε = {epsilon}"
        if step.choices.count > 1:
            kind = f"{step.choices.count:,} choices with ε = {epsilon} each"
    name = _NAMES.get(step.purpose, step_in_words(step)).format(*step.sizes)
    share = f"{100 * float(step.fraction):.1f} %"
    return name, share, _spent_in_words(step), kind, half_width


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


def _plan_remarks(prepared: Prepared) -> Iterator[str]:
    """Yield what comes out, and what all steps cost together."""
    run, request, spending = prepared.run, prepared.request, prepared.spending
    plan, (cost, _), (_, zcdp) = prepared.plans[0], spending.total, run.entry(spending)
    sought = request.target.sought
    supports = "with noisy supports" if request.supports_share else "without supports"
    verb = "comes" if sought == 1 else "come"
    kinds, questions = itemsets_of(request.target.sizes, sought), len(prepared.requests)
    if request.scope.groups:
        kinds += f" of each of {questions} levels"
    elif questions > 1:
        kinds += f" with each of {questions:,} items"
    else:
        kinds += request.scope.with_in_words
    yield f"At most {sought:,} {kinds} {verb} out, {supports}."
    if plan.look is not None:
        yield from _of_look(plan.look, sought)
    if plan.target.most_supports > 1 and request.supports_share:
        yield (
            f"With 95 % probability a support is that near to the truth if all "
            f"{plan.target.most_supports:,} come out. Fewer have less noise."
        )
    if plan.names_delta:
        revealed = "itemset" if request.counted_universe.is_listed else "item"
        yield (
            f"δ = {least_in_words(plan.names_delta)} is for the chance that an {revealed} is "
            f"revealed which only one {run.unit} has."
        )
    times = run.reading.times
    for_each = " for each period" if times is not None and times.released_apart else ""
    yield (
        f"The release costs ε = {least_in_words(cost.epsilon)}, δ = {least_in_words(cost.delta)}. "
        f"A ledger that adds up zCDP is charged ρ = {least_in_words(zcdp.rho)}, "
        f"δ = {least_in_words(zcdp.delta)}{for_each}."
    )
    if run.account is not None:
        yield "The ledger allows it as it stands now."
    segments = run.reading.parts
    if segments is not None:
        yield (
            f"This is the plan of each of {words.number_of(len(segments.names), 'release')}; the "
            f"cost is that of all of them for a {run.unit} that counts in {segments.most:,}."
        )
