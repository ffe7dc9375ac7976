"""What a privacy officer has to know of a release. The facts are said once: for the last section of
its page, for a statement in Markdown, and for the public registry of deployments.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, metadata

from fim_private import __version__
from fim_private.display import JsonObject, markdown, printable
from fim_private.dp.accountant import Step
from fim_private.dp.composition import root_above
from fim_private.dp.cost import Exact, at_most, least_in_words, rounded_up
from fim_private.dp.neighbors import Neighbors
from fim_private.errors import ParameterError
from fim_private.reading.options import MissingUser
from fim_private.release import words
from fim_private.release.forms import SCHEMA, AnyRelease
from fim_private.request.plan import shares_in_words
from fim_private.request.scope import Scope

Sentences = tuple[str, ...]
# δ times the number of units should be no more (docs/privacy.md, "The size of δ").
_MOST_EXPOSED = Fraction(1, 10)
_HEADINGS = {
    "guarantee": "Guarantee",
    "unit": "Who is protected",
    "relation": "Neighbours",
    "spent": "Spent",
    "steps": "Steps",
    "budget": "Budget",
    "released": "The result",
    "read": "What was counted",
    "unprotected": "What is not protected",
    "raw_data": "Who sees raw data",
    "versions": "Versions",
    "proof": "Proof",
}


@dataclass(frozen=True)
class Facts:
    """What a privacy officer has to know of a release, in sentences.

    Attributes:
        guarantee: The guarantee.
        unit: What is protected, and the columns that name it.
        relation: The neighbour relation.
        spent: ε, δ, ρ and, if it is Gaussian, μ; and whether δ is small enough.
        steps: Each step, with its share of the budget.
        budget: What the ledger says of the charge, and of all releases so far.
        released: How much came out, the mechanism, and what was asked for.
        read: What was counted of the purchases.
        unprotected: What is not protected.
        raw_data: Who sees raw data.
        versions: Which program made the release, and which describes it here.
        proof: Where the proofs are.
    """

    guarantee: Sentences
    unit: Sentences
    relation: Sentences
    spent: Sentences
    steps: Sentences
    budget: Sentences
    released: Sentences
    read: Sentences
    unprotected: Sentences
    raw_data: Sentences
    versions: Sentences
    proof: Sentences

    @property
    def sections(self) -> list[tuple[str, Sentences]]:
        """The headings, and the sentences under each."""
        return [(_HEADINGS[name], sentences) for name, sentences in vars(self).items() if sentences]

    def to_markdown(self) -> str:
        """Return a statement that stands alone, as Markdown."""
        blocks = ["# Privacy statement"]
        for heading, sentences in self.sections:
            lines = "\n".join(f"- {markdown(sentence)}" for sentence in sentences)
            blocks.append(f"## {heading}\n\n{lines}")
        return "\n\n".join(blocks) + "\n"


def facts_of(release: AnyRelease, budget: Sequence[str] = ()) -> Facts:
    """Return the facts of a Release, or of all releases of segments together.

    budget: what the ledger says now, in sentences; none without a ledger.
    """
    whole = release.whole
    charged = words.charged(whole) or (
        "Charged to no ledger: no limit is on record, nor what other releases of these data have "
        "spent.",
    )
    counted = (
        *words.rows_where(whole.where),
        *_counted(whole),
        *whole.scope.sentences(whole.privacy_unit),
    )
    return Facts(
        guarantee=(whole.guarantee,),
        unit=(*_unit(whole),),
        relation=(
            f"{whole.neighbors}: the promise is about {words.changed(whole.neighbors, whole)}.",
        ),
        spent=(*_spent(whole), *_size_of_delta(release)),
        steps=(*_steps(release),),
        budget=(*charged, *budget),
        released=(*_released(release),),
        read=counted,
        unprotected=(*_unprotected(whole),),
        raw_data=_RAW_DATA,
        versions=(*_versions(whole),),
        proof=(_proof(),),
    )


def facts_of_several(releases: Mapping[str, AnyRelease]) -> list[tuple[str, Sentences]]:
    """Return headings with the facts of releases under each: once if all releases have the same,
    else once for each release, after its name.
    """
    by_name = {name: vars(facts_of(release)) for name, release in releases.items()}
    sections = []
    for field, heading in _HEADINGS.items():
        sentences_of = {name: facts[field] for name, facts in by_name.items()}
        sentences, *_ = sentences_of.values()
        if len({*sentences_of.values()}) > 1:
            sentences = tuple(f"{name}: {_paragraph(said)}" for name, said in sentences_of.items())
        if sentences:
            sections.append((heading, sentences))
    return sections


def _unit(release: AnyRelease) -> Iterator[str]:
    yield f"One {words.protected(release)}."
    identified = ""
    if release.scope.unit_columns:
        columns = " and ".join(repr(printable(column)) for column in release.scope.unit_columns)
        identified = f" is identified in the data by {columns}"
    if release.privacy_unit == "user":
        also = identified and f", and{identified}"
        yield f"A user is a customer{also}."
        return
    if identified:
        yield f"A basket{identified}."
    yield "A customer with several baskets is protected less: what is spent adds up."


def _spent(release: AnyRelease) -> Iterator[str]:
    """Yield ε and δ, ρ and, if it is Gaussian, μ: as they were set, or as they follow.

    Source: docs/privacy.md, "The ledger". Normal noise on all steps is also √(2ρ)-GDP.
    """
    cost = release.cost
    amounts = f"ε = {least_in_words(cost.epsilon)}, δ = {least_in_words(cost.delta)}"
    if release.zcdp is not None:
        rho = least_in_words(release.zcdp.rho)
        yield f"The budget was set as ρ = {rho} (zero-concentrated differential privacy)."
        yield f"It follows that {amounts}."
        return
    yield f"The budget was set as {amounts}."
    sums = release.adds_up
    if sums is None or _makes_users_several_units(release.scope):
        return
    names_delta = sums["zcdp_delta"]
    also, both = f"ρ-zCDP with ρ = {least_in_words(sums['rho'])}", ""
    if not sums["other_noise"]:
        also += f" and μ-GDP with μ = {least_in_words(root_above(2 * sums['rho']))}"
        both = "both "
    if names_delta:
        also += f", {both}δ₀-approximately with δ₀ = {least_in_words(names_delta)}"
    yield f"The steps add up to {also}."


def _makes_users_several_units(scope: Scope) -> bool:
    """Return whether one user may be several units: what adds up is then of all of them."""
    return scope.per is not None and (len(scope.periods) > 1 or scope.units_of_user > 1)


def _size_of_delta(release: AnyRelease) -> Iterator[str]:
    """Yield whether δ is small enough for the number of units, as far as it was released."""
    whole = release.whole
    delta = whole.cost.delta
    if not delta:
        return
    units = words.units_of(whole, whole.privacy_unit)
    rule = f"δ times the number of {units} should be {float(_MOST_EXPOSED)} at most."
    numbers = _number_of_units(release)
    if numbers is None:
        yield f"{rule} The release does not have that number."
        return
    fewest, most = numbers
    verdict = "may be TOO LARGE"
    if delta * most <= _MOST_EXPOSED:
        verdict = "is small enough"
    elif delta * fewest > _MOST_EXPOSED:
        verdict = "is TOO LARGE"
    number, exposed = f"{fewest:,}", rounded_up(delta * fewest, 3)
    if most > fewest:
        number += f" to {most:,}"
        exposed += f" to {rounded_up(delta * most, 3)}"
    first, *_ = release.by_segment.values()
    about = "" if first.units_noise is None else "about "
    yield f"{rule} For {about}{number} of them it is {exposed}: δ {verdict}."


def _number_of_units(release: AnyRelease) -> tuple[int, int] | None:
    """Return how many units there are at least and at most, apart from noise; None if unknown."""
    numbers = [part.units for part in release.by_segment.values()]
    if None in numbers:
        return None
    largest, together = max(numbers), sum(numbers)
    if release.kind_of_part in ("item", "level"):  # each has the number of all
        return largest, largest
    return max(largest, together // release.whole.scope.max_segments), together


def _steps(release: AnyRelease) -> Iterator[str]:
    first, *others = release.by_segment.values()
    if any(other.shares != first.shares for other in others):
        yield "The releases that were made together do not have the same steps: see each of them."
        return
    if others:
        yield "Each of the releases that were made together has such steps:"
    if len(first.shares) < 2:
        yield "One step has all of it."
        return
    units = words.units_of(first, first.privacy_unit)
    for purpose, share in shares_in_words(first.shares).items():
        spent = f"{100 * float(share):.1f} % of {_measure(first.shares[0])}"
        yield f"{spent} for {purpose.replace('units', units)}."


def _measure(step: Step) -> str:
    """Return what the shares of the steps are shares of."""
    if step.mu_squared is not None:
        return "μ²"
    if step.rho is not None:
        return "ρ"
    return "ε"


# Where each of several releases has as many itemsets.
_IN_EACH = {
    "segment": "in each segment",
    "period": "in each period",
    "item": "with each item",
    "level": "at each level of groups",
}


def _released(release: AnyRelease) -> Iterator[str]:
    whole = release.whole
    came_out = sum(map(len, release.by_segment.values()))
    yield f"Released: {words.number_of(came_out, 'itemset')}."
    mechanism = whole.mechanism
    if whole.reason is not None:
        mechanism += f", because {whole.reason}"
    yield f"Mechanism: {mechanism}."
    if whole.private:
        yield "Its noise comes from the operating system's random generator, without a seed."
    if whole.mechanism == words.GIVEN:
        yield f"Supports of {words.number_of(whole.top, 'itemset')}, named as public."
    else:
        where = ""
        if len(release.by_segment) > 1:
            where = f" {_IN_EACH[release.kind_of_part]}"
        most = words.number_of(whole.wanted, "itemset")
        yield f"Asked for: at most {most} of size {whole.size}{where}."
    units = words.units_of(whole, whole.privacy_unit)
    least = whole.min_support
    if isinstance(least, float):
        share = f"{at_most(100 * Exact(least))} % of all {units}"
        yield f"Each itemset has a noisy support of at least {share}. The true one may be smaller."
    elif least is not None:
        number = f"{least:,} {units}"
        yield f"Each itemset has a noisy support of at least {number}. The true one may be smaller."
    if whole.units is not None:
        number = f"Number of {units}: {whole.units:,}"
        if whole.units_interval is not None:
            low, high = whole.units_interval
            number += f" with noise, {low:,} to {high:,} with 95 % probability"
        yield f"{number}."


def _counted(release: AnyRelease) -> Iterator[str]:
    if release.privacy_unit == "user" and not release.scope.unites:
        yield words.IN_ONE_BASKET
    if release.max_basket is not None:
        yield f"At most {release.max_basket:,} items of a basket count."
    if release.max_baskets is not None:
        yield f"At most {release.max_baskets:,} baskets of a user count."
    if release.missing_user == MissingUser.OWN_UNIT:
        yield "A basket without a user is protected by itself."
    elif release.missing_user is not None:
        yield "Baskets without a user were left out."


def _unprotected(release: AnyRelease) -> Iterator[str]:
    scope, units = release.scope, f"{release.privacy_unit}s"
    yield (
        f"What many {units} have in common: to show it is the purpose. It may also be true of "
        f"somebody who is not in the data."
    )
    if release.mechanism != words.GIVEN:
        yield (
            "Rare products are mostly left out. So this is not a list of all products, and what is "
            "missing may still be sold."
        )
    yield (
        "The number of rows that were skipped, such as rows without an id, is not in the release. "
        "Whoever runs the command can work it out, and nothing protects it."
    )
    if release.mechanism == words.GIVEN:
        yield "Which itemsets were counted: they were given, and taken to be public."
    elif scope.items_are_public:
        yield "The names of all items: they were taken to be public."
    elif scope.catalogue is not None or scope.groups:
        yield "The catalogue: the list of items was given as public."
    else:
        yield "No catalogue was given: the names of items come from the data, under the guarantee."
    yield from _unprotected_choices(release)
    if release.units is not None and release.units_interval is None:
        yield f"The exact number of {units}."
    if release.privacy_unit == "user":
        yield (
            "A person with several ids counts as several users. With two of them, ε is twice as "
            "large, and δ 1 + e^ε times as large. People who share an id count as one."
        )
    yield "When the command ran, how long it took, and whether it failed."


def _unprotected_choices(release: AnyRelease) -> Iterator[str]:
    """Yield the condition, and other choices that are public."""
    scope = release.scope
    condition = "No condition was set on rows."
    if release.where is not None:
        condition = f"The condition: rows where {printable(release.where)}. It is public."
    elif scope.query:
        condition = "The condition: a query chose the rows, and it was taken to be public."
    yield condition
    if release.neighbors == Neighbors.REPLACE_ONE and scope.chooses_units(release.where):
        units = f"{release.privacy_unit}s"
        yield f"Which {units} that choice of rows keeps, or in which segment each counts."
    yield "The request itself: sizes, limits, segments, periods, and the items that it names."


_RAW_DATA = (
    "The person who runs the command, and whoever administers that computer. They see all "
    "purchases, and must be trusted (the central model).",
    "Anybody who sees what the command “fim-private inspect” prints: rows and exact counts. "
    "Errors, logs and run times also depend on the data, and have no noise. Keep all of these with "
    "the data.",
    "Nobody who has only the page, this statement, the release's JSON or the ledger: of the data "
    "they hold what is released, and no more. A ledger also has each condition as it was typed, "
    "which may name somebody.",
)


def _versions(release: AnyRelease) -> Iterator[str]:
    made = "an unknown version of fim-private"
    if release.version is not None:
        made = f"fim-private {release.version}"
    day = "" if release.date is None else f" on {release.date.isoformat()}"
    yield f"Made{day} by {made}; described by fim-private {__version__}."
    yield f"JSON schema {SCHEMA}."


def _proof() -> str:
    """Return where the proofs are: at the public address of the project, if there is one."""
    place = f"docs/privacy.md in the source of fim-private {__version__}"
    try:
        addresses = metadata("fim-private").get_all("Project-URL") or []
    except PackageNotFoundError:
        addresses = []
    for address in addresses:
        label, _, url = address.partition(", ")
        if label == "Documentation":
            place = url.replace("index.md", "privacy.md")
    return f"The theorems that the guarantee rests on, with proofs: {place}."


# -------------------- the form of the public registry of deployments

_FILL_IN = "FILL IN: "


def registry_entry(release: AnyRelease, facts: Facts) -> JsonObject:
    """Return a draft for the registry of deployments, by the names of its fields (schema of
    https://github.com/opendp/deployments-registry-data, tier 3).

    What no release knows, such as who publishes it, begins with FILL IN. Raises ParameterError for
    a release with a seed, which protects nobody.
    """
    whole = release.whole
    if not whole.private:
        raise ParameterError(
            "this release was made with a seed: it protects nobody, and has no "
            "place in a registry; mine again without one"
        )
    parameters = {"epsilon": float(whole.cost.epsilon), "delta": float(whole.cost.delta)}
    variant = "Approximate DP" if whole.cost.delta else "Pure DP"
    if whole.zcdp is not None:
        parameters["rho"] = float(whole.zcdp.rho)
        variant = "Approximate DP" if whole.zcdp.delta else "Zero-concentrated DP"
    day = "1900-01-01" if whole.date is None else whole.date.isoformat()
    shots = "One release" if whole.charged is None else "Many releases"
    return {
        "url_slug": "draft",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": release.title,
                "data_curators": [f"{_FILL_IN}who publishes it"],
                "intended_use": f"{_FILL_IN}what it is for",
                "data_product_type": "Summary statistics",
                "data_product_region": f"{_FILL_IN}the region, and whose law applies",
                "description": _paragraph(facts.released),
                "publication_date": day,
            },
            "dp_variant": {
                "variant_name": variant,
                "data_domain": _paragraph(facts.read) or "All purchases in the data.",
                "unprotected_quantities": _paragraph(facts.unprotected),
            },
            "privacy_loss": {
                "privacy_unit": _paragraph(facts.unit),
                "privacy_unit_details": _paragraph(facts.relation),
                "privacy_parameters": parameters,
                "privacy_parameters_details": _paragraph((*facts.guarantee, *facts.spent)),
            },
            "deployment_model": {
                "model_name": "Central",
                "model_name_details": facts.raw_data[0],
                "actors": _paragraph(facts.raw_data),
                "release_type": shots,
                "release_type_details": _paragraph(facts.budget),
                "data_source_type": "Static",
                "data_source_type_details": f"{_FILL_IN}whether purchases are added later",
                "access_type": "Non-interactive",
                "access_type_details": "Readers get the release, and cannot ask further questions.",
            },
            "accounting": {
                "post_processing": "Supports, intervals and rules are computed from noisy counts "
                "alone.",
                "composition": _paragraph((*facts.steps, *facts.budget)),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": f"{_FILL_IN}who looked at the data "
                "before, and whether parameters were chosen by them",
                "mechanisms": _paragraph((*facts.released, *facts.versions)),
                "justification": _paragraph(facts.proof),
            },
            "administrative": {
                "sources": _paragraph(facts.proof),
                "notes": f"{_FILL_IN}links to the data product, or remove this line",
                "registry_authors": [f"{_FILL_IN}who wrote this entry"],
            },
        },
    }


def _paragraph(sentences: Sentences) -> str:
    return " ".join(sentences)


def as_yaml(value: object, indent: str = "") -> str:
    """Return plain values as YAML, in block style: each text in quotes, on one line."""
    if isinstance(value, dict):
        return "".join(f"{indent}{name}:{_below(inside, indent)}" for name, inside in value.items())
    if isinstance(value, list):
        return "".join(f"{indent}-{_below(inside, indent)}" for inside in value)
    raise TypeError(f"no mapping and no list: {value!r}")


def _below(value: object, indent: str) -> str:
    """Return a value behind the name that it has, with the end of the line."""
    if isinstance(value, dict | list):
        return "\n" + as_yaml(value, indent + "  ")
    if isinstance(value, float):
        # YAML 1.1 takes 1e-06 for a text: a number needs a point.
        digits, exponent_sign, exponent = repr(value).partition("e")
        point = "" if "." in digits else ".0"
        return f" {digits}{point}{exponent_sign}{exponent}\n"
    if isinstance(value, str):
        # Text in the quotes of JSON is text of YAML, too.
        value = json.dumps(printable(value), ensure_ascii=False)
    return f" {value}\n"
