"""Sample and aggregate: each block of units answers a question by itself, and their votes choose one answer.

(The module's name is a gerund because `fim.vote` is a function, which would hide a module of that name.)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from typing import Any, Unpack

from fim_private import defaults
from fim_private.counting import Progress
from fim_private.dp.cautions import cautions, cautions_of_units, chosen_units_show
from fim_private.dp.charge import account_of
from fim_private.dp.cost import ZcdpCost, at_least
from fim_private.dp.parameters import (
    Neighbors,
    check_function,
    exact_delta,
    exact_epsilon,
    exact_neighbors,
    whole_number,
)
from fim_private.dp.randomness import Randomness
from fim_private.errors import ParameterError, parameter, shown, warn
from fim_private.learning.ballots import Ballots
from fim_private.learning.blocks import blocks_of
from fim_private.learning.questions import Question
from fim_private.learning.vote_result import Vote
from fim_private.mechanisms import Choosing
from fim_private.mining.charging import bill, rows_asked, unit_columns
from fim_private.mining.mine_options import SourceOptions
from fim_private.mining.scope import Scope, read_by
from fim_private.mining.wording import NOT_INDEPENDENCE
from fim_private.reading import read_parts, reads_users
from fim_private.reading.databases import check_query
from fim_private.reading.dialect import Dialect
from fim_private.reading.memory import MemoryLimit, held_to
from fim_private.reading.options import Options
from fim_private.reading.transactions import Transactions
from fim_private.reading.where import where_of
from fim_private.spectrum import SupportSpectrum

_MOST_BLOCKS, _MOST_VOTES = 1_000_000, 1_000_000


def vote(
    data: Any,
    question: Callable[[Transactions], Iterable[Hashable]],
    *,
    blocks: int = defaults.BLOCKS,
    votes: int | None = None,
    epsilon: float | Fraction = defaults.EPSILON,
    delta: float | Fraction = defaults.DELTA,
    neighbors: str = defaults.NEIGHBORS,
    ledger: Any = None,
    dataset: str | None = None,
    progress: Progress | None = None,
    seed: int | None = None,
    **source: Unpack[SourceOptions],
) -> Any:
    """Answer any question about purchases, (epsilon, delta)-differentially private per basket or per user.

    Every unit goes to one of the blocks by lot; each block answers the question by itself; and of the answers one is
    chosen by how many blocks gave it, or none where too few agree ("sample and aggregate").

    data: the purchases: what read_transactions takes, or has returned. source: how to read them, and what of them
        counts, as in mine: user (each user is then a unit, with all their baskets), basket, item, where, ...
    question: is called with each block, as Transactions of which all units are different from those of others. It
        returns the block's answers: a list of at most `votes`, each with a hash; a text is one answer. An empty list,
        more answers than that, None, and an error count as no vote. (MemoryError and KeyboardInterrupt end the run.)
        It must look at nothing but the block, and keep nothing from one block to the next. The order of units, and of
        a user's baskets, is random. Or one of fim_private.learning.questions, such as HighestLift(min_share=0.04),
        which then gives the `votes` best answers of a block.
    blocks: how many, 1 to 1,000,000; a public number. More blocks agree in larger numbers, if each is still large
        enough to tell: at epsilon 1 and delta 1e-6 an answer needs some 37 votes.
    votes: how many answers a block may give, 1 to 1,000,000; 1 unless given, of a question with a name 2. Where the
        best of one block is often the second best of another, 2 let more of them agree.
    epsilon: 1e-9 to 1e9. delta: 1e-300 up to below 1.
    neighbors: what the guarantee is said to be about; it holds for "replace-one" and for "add-remove" alike.
    ledger, dataset: as in mine; the charge is on the disk before a block is made. progress: called after each block,
        with the fraction done. seed: for tests and benchmarks only: with a seed, nothing is private.

    Returns the answer, or None where the vote abstained, which also spends the budget. Two answers are the same if they
    are of one type, print alike and are equal; 1, True and 1.0 are three answers. Of a dataclass all
    fields count. An object of another class of your own must hold nothing beyond what its == compares and its repr
    prints, for the very object of one block is returned; and its == must never fail: it is asked across blocks.
    Raises ParameterError, DataError, LedgerError or MemoryLimitError; what the question raises stays in the block.
    Warns as mine does.

    Try a question on made-up data first: where it fails on every block, all that can be told is None.

    Why this is private: docs/privacy.md, Theorem 20. Source: Nissim, Raskhodnikova and Smith, "Smooth sensitivity and
    sampling in private data analysis" (2007), with the choosing mechanism of Beimel, Nissim and Stemmer (2013).

    >>> def longest(block):
    ...     lengths = [end - begin for begin, end in zip(block.offsets, block.offsets[1:])]
    ...     return [int(max(lengths))]
    >>> baskets = [["tea", "milk"]] * 5_000 + [["tea", "milk", "jam"]] * 5_000
    >>> vote(baskets, longest, blocks=80, seed=1)
    3
    """
    return voted(
        data,
        question,
        blocks=blocks,
        votes=votes,
        epsilon=epsilon,
        delta=delta,
        neighbors=neighbors,
        ledger=ledger,
        dataset=dataset,
        progress=progress,
        seed=seed,
        stacklevel=3,
        **source,
    ).answer


def voted(
    data: Any,
    question: Callable[[Transactions], Iterable[Hashable]],
    *,
    blocks: int = defaults.BLOCKS,
    votes: int | None = None,
    epsilon: float | Fraction = defaults.EPSILON,
    delta: float | Fraction = defaults.DELTA,
    neighbors: str = defaults.NEIGHBORS,
    ledger: Any = None,
    dataset: str | None = None,
    progress: Progress | None = None,
    seed: int | None = None,
    stacklevel: int = 2,
    **source: Unpack[SourceOptions],
) -> Vote:
    """Return what `vote` answers, with the guarantee that it is released under. stacklevel: of warnings."""
    unknown = {*source} - {*SourceOptions.__annotations__}
    if unknown:
        raise TypeError(f"vote() got an unexpected keyword argument {min(unknown)!r}")
    if not callable(question) or isinstance(question, type):
        raise ParameterError(f"{parameter('question')} must be a function of one block, not {shown(question)}")
    blocks = whole_number("blocks", blocks, least=1, most=_MOST_BLOCKS)
    if votes is None:
        votes = defaults.VOTES if isinstance(question, Question) else 1
    votes = whole_number("votes", votes, least=1, most=_MOST_VOTES)
    if progress is not None:
        check_function("progress", progress)
    mechanism = Choosing(exact_epsilon(epsilon), exact_delta(delta), votes, Neighbors.REPLACE_ONE)
    relation, cost = exact_neighbors(neighbors), mechanism.cost
    randomness = Randomness.of_seed(seed)
    account = account_of(ledger, dataset, private=randomness.private)
    reading, scope = _read_how(data, source, question)
    chosen = scope.chooses_units(read_by(data, reading)[0])
    public = relation == Neighbors.REPLACE_ONE and not chosen
    due = bill(
        account,
        command="vote",
        dataset=dataset,
        by_user=_by_user(data, source),
        neighbors=relation,
        cost=cost,
        zcdp=ZcdpCost(Fraction(cost.epsilon) ** 2 / 8, cost.delta),  # one bounded-range choice: Theorem 8
        parameters=_asked(question) | {"blocks": blocks, "votes": votes} | rows_asked(data, reading, scope),
        unit_columns=unit_columns(data, reading),
    )
    if randomness.private:
        warn(cautions(cost), stacklevel=stacklevel)
        if chosen and relation == Neighbors.REPLACE_ONE:
            warn([chosen_units_show("user" if _by_user(data, source) else "basket")], stacklevel=stacklevel)
    (read,) = read_parts(data, reading)
    purchases, scope = scope.applied(read).united(), scope.read_from(read.read_as)
    unit = "user" if purchases.by_user else "basket"
    charged = None if due is None else due.pay(unit)
    if randomness.private:
        if read.read_as is not None:
            warn(read.read_as.cautions(), stacklevel=stacklevel)
        if public:
            warn(cautions_of_units(cost, purchases.units, unit), stacklevel=stacklevel)
    ballots = _asked_of_all(purchases, question, blocks, votes, randomness, progress)
    return Vote(
        answer=_chosen(ballots, mechanism, randomness),
        question=question if isinstance(question, Question) else None,
        blocks=blocks,
        votes=votes,
        mechanism=mechanism,
        neighbors=relation,
        privacy_unit=unit,
        private=randomness.private,
        units=purchases.units if public else None,
        missing_user=purchases.missing_user,
        where=purchases.where,
        scope=scope,
        charged=charged,
    )


def _read_how(data: Any, source: SourceOptions, question: Any) -> tuple[Options, Scope]:
    """Return how to read purchases, and what of them counts, checked. A list of what is left out is read."""
    limit, by_user = MemoryLimit.of(source.get("max_memory")), _by_user(data, source)
    reading = Options(
        user=source.get("user"),
        basket=source.get("basket"),
        item=source.get("item"),
        items=source.get("items"),
        missing_user=source.get("missing_user"),
        dialect=Dialect(
            source.get("delimiter"),
            source.get("header"),
            source.get("encoding"),
            source.get("input_format"),
            source.get("skip_rows"),
        ),
        query=source.get("query"),
        where=where_of(source.get("where")),
        memory=limit,
        split=source.get("split"),
        fold_case=source.get("fold_case", False),
    )
    check_query(data, reading.query)
    named = question if isinstance(question, Question) else None
    _, queried, folds = read_by(data, reading)
    with held_to(limit):
        scope = Scope.of(
            exclude=source.get("exclude"),
            min_basket=source.get("min_basket"),
            together=source.get("together"),
            by_user=by_user,
            rules=named is not None and named.of_rules,
            query=queried,
            fold_case=folds,
        )
    if named is not None and named.of_lift and not scope.has_lifts("user" if by_user else "basket"):
        raise ParameterError(
            f"{parameter('question')} {named.name} of users needs {parameter('together')} user: {NOT_INDEPENDENCE}"
        )
    return reading, scope


def _by_user(data: Any, source: SourceOptions) -> bool:
    """Tell whether units will be users, from what is public."""
    if isinstance(data, Transactions):
        return data.by_user
    return reads_users(data, source.get("user"), source.get("input_format"), source.get("basket"))


def _asked(question: Any) -> dict[str, Any]:
    """Return what a ledger keeps of a question: of one with a name all of it, of others nothing."""
    if not isinstance(question, Question):
        return {}
    numbers = question.asked.items()
    return {"question": question.name} | {
        name: number if isinstance(number, int) else at_least(number) for name, number in numbers
    }


def _asked_of_all(
    purchases: Transactions,
    question: Any,
    blocks: int,
    votes: int,
    randomness: Randomness,
    progress: Progress | None,
) -> Ballots:
    """Return the votes of all blocks."""
    ballots = Ballots(votes)

    def ask(block: Transactions) -> Iterable[Hashable]:
        answers: Iterable[Hashable] = question.best(block, votes) if isinstance(question, Question) else question(block)
        return answers

    for done, block in enumerate(blocks_of(purchases, blocks, randomness), 1):
        ballots.ask(ask, block)
        if progress is not None:
            progress(done / blocks)
    return ballots


def _chosen(ballots: Ballots, mechanism: Choosing, randomness: Randomness) -> Any:
    """Choose an answer by its votes; those with equally many are equally likely. None for abstaining."""
    level = mechanism.select(SupportSpectrum.from_supports(ballots.counts), randomness).level
    if level is None:
        return None
    tied = ballots.given_by(level)
    return tied[randomness.below(len(tied))]
