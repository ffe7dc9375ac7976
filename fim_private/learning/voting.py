"""Sample and aggregate: blocks of units answer a question, and their votes choose one answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from fim_private import options
from fim_private.counting import Progress
from fim_private.display import printable
from fim_private.dp.charge import Charged, account_of
from fim_private.dp.cost import PrivacyCost, ZcdpCost, at_least
from fim_private.dp.noise import Randomness, uniform_integers
from fim_private.dp.parameters import (
    Neighbors,
    cautions,
    cautions_of_units,
    check_function,
    chosen_units_show,
    exact_delta,
    exact_epsilon,
    exact_neighbors,
    whole_number,
)
from fim_private.errors import ParameterError, parameter, shown, warn
from fim_private.learning.questions import Question
from fim_private.mechanisms import Choosing
from fim_private.mechanisms.needs import prospects
from fim_private.options import SourceOptions, filled, takes
from fim_private.reading.databases import check_query
from fim_private.reading.memory import held_to
from fim_private.reading.options import Options, reading_of
from fim_private.reading.purchases import read_parts
from fim_private.reading.transactions import Transactions
from fim_private.release import words
from fim_private.release.forms import SCHEMA
from fim_private.release.words import NOT_INDEPENDENCE
from fim_private.request.budget import bill, rows_asked, unit_columns
from fim_private.request.request import Scope, counts_users, read_by
from fim_private.spectrum import SupportSpectrum

# -------------------- vote result
# What a vote gives: an answer, or none, and the guarantee that it is released under.


@dataclass(frozen=True, repr=False)
class Vote:
    """What leaves of a vote. How many blocks gave the answer, or any other, does not.

    answer: None where the vote abstained. question: what was asked, if that has a name; None for a function.
    blocks, votes: how many blocks there were, and how many answers each of them could give. mechanism: what chose.
    neighbors: the neighbour relation. privacy_unit: "basket", or "user". private: False where a seed was given.
    units: how many there are, which is public under replace-one; None under add-remove. missing_user, where, scope: as
    in a release. charged: what a ledger said; None where there was none.
    """

    answer: Any
    question: Question | None
    blocks: int
    votes: int
    mechanism: Choosing
    neighbors: str
    privacy_unit: str
    private: bool
    units: int | None = None
    missing_user: str | None = None
    where: str | None = None
    scope: Scope = field(default_factory=Scope)
    charged: Charged | None = None

    @property
    def abstained(self) -> bool:
        """Whether the vote gave no answer, which is a valid private answer."""
        return self.answer is None

    @property
    def cost(self) -> PrivacyCost:
        """The (epsilon, delta) that was spent."""
        return self.mechanism.cost

    @property
    def needed(self) -> int:
        """How many blocks must give an answer for it to come out with 95 % probability, if none has another rival."""
        support = prospects(self.mechanism, options.CONFIDENCE).support
        assert support is not None  # enough votes always are enough
        return support

    @property
    def title(self) -> str:
        """What was asked, and of whom, in a line."""
        asked = "The answer" if self.question is None else self.question.told(self.privacy_unit)
        return f"{asked[0].upper()}{asked[1:]}, by a vote of {self.blocks:,} blocks"

    @property
    def text(self) -> str:
        """The answer as text."""
        if self.abstained:
            return "The vote abstained: too few blocks agree on an answer."
        if self.question is None:
            return printable(str(self.answer))
        return self.question.text(self.answer, self.privacy_unit)

    @property
    def remarks(self) -> tuple[str, ...]:
        """How the vote was held, and what it takes, in sentences."""
        which = "its answer" if self.votes == 1 else f"its best {self.votes:,} answers"
        held = f"Each {self.privacy_unit} went to one block by lot, and each block gave {which}."
        names = f"About {self.needed:,} blocks must give the same answer for it to come out with 95 % probability"
        if self.needed > self.blocks:
            return held, f"{names}: more than there are. Take more blocks, or a larger ε."
        if self.abstained:
            return held, f"{names}: more blocks, or more answers of each, find more."
        return held, f"{names}; the likelier, the more do."

    @property
    def guarantee(self) -> str:
        """The guarantee, in one sentence."""
        if not self.private:
            return words.SEEDED
        protected = words.protected(self.privacy_unit, self.missing_user)
        return words.guarantee(
            "vote",
            self.cost,
            words.change(self.neighbors, protected, where=self.where is not None, query=self.scope.query),
        )

    @property
    def told(self) -> tuple[str, ...]:
        """Which rows were read, and what of them counted, in sentences."""
        return (*words.rows_where(self.where), *self.scope.told(self.privacy_unit))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as in JSON (docs/architecture.md)."""
        question: dict[str, Any] = {}
        if self.question is not None:
            numbers = self.question.asked.items()
            question = {"question": self.question.name}
            question |= {name: number if isinstance(number, int) else float(number) for name, number in numbers}
        optional = {"units": self.units, "where": self.where}
        answer = self.answer if self.question is None or self.abstained else self.question.plain(self.answer)
        return {
            "schema": SCHEMA,
            "private": self.private,
            "mechanism": "vote",
            **question,
            "blocks": self.blocks,
            "votes": self.votes,
            "epsilon": float(self.cost.epsilon),
            "delta": float(self.cost.delta),
            "neighbors": str(self.neighbors),
            "privacy_unit": self.privacy_unit,
            "guarantee": self.guarantee,
            **{name: value for name, value in optional.items() if value is not None},
            **self.scope.to_dict(),
            "abstained": self.abstained,
            "answer": answer,
            **({} if self.charged is None else {"ledger": self.charged.to_dict()}),
        }


# -------------------- ballots
# What blocks answer: at most so many answers each, no matter what a question does, and which answers are the same.
#
# Two answers are the same if they are of one type, print alike and are equal: 1, True and 1.0 are three answers, and so
# are 0.0 and -0.0; and so are their parts, of tuples, frozensets and dataclasses, also those that a dataclass leaves
# out
# of its == or of what it prints. Otherwise the one that is returned could tell which block gave it.

# Sees one block, and returns its answers.
Ask = Callable[[Transactions], Iterable[Hashable]]
_Key = tuple[Any, ...]


@dataclass
class Ballots:
    """How many blocks gave each answer.

    most: how many different answers a block may give, >= 1. One that gives more has no vote.
    """

    most: int
    _counts: Counter[_Key] = field(default_factory=Counter)
    _answers: dict[_Key, Hashable] = field(default_factory=dict)

    def ask(self, question: Ask, block: Transactions) -> None:
        """Add the answers of a block; none of them where the question fails, or gives more than it may, or None.

        Raises MemoryError, and what is no Exception, such as KeyboardInterrupt.
        """
        try:
            answers = _given(question(block), self.most)
        except MemoryError:
            raise
        except Exception:  # whether it fails follows from the block alone, and so must not show
            return
        self._counts.update(answers.keys())
        for key, answer in answers.items():
            self._answers.setdefault(key, answer)

    @property
    def counts(self) -> list[int]:
        """How many blocks gave each answer, >= 1, in any order."""
        return list(self._counts.values())

    def given_by(self, count: int) -> list[Hashable]:
        """Return the answers that so many blocks gave, in any order."""
        return [self._answers[key] for key, number in self._counts.items() if number == count]


def _given(answers: Any, most: int) -> dict[_Key, Hashable]:
    """Return different answers by their keys; nothing where they are more than most, or one of them is None.

    A text is one answer, not one for each letter.
    """
    found: dict[_Key, Hashable] = {}
    for answer in (answers,) if isinstance(answers, str | bytes) else answers:
        if answer is None:
            return {}
        found[_key(answer)] = _canonical(answer)
        if len(found) > most:
            return {}
    return found


def _key(answer: Hashable) -> _Key:
    """Return what is equal for the same answers only. Raises TypeError for what has no hash."""
    if type(answer) is tuple:
        return (tuple, *map(_key, answer))
    if type(answer) is frozenset:
        return frozenset, frozenset(map(_key, answer))
    hash(answer)
    return type(answer), repr(answer), answer, *map(_key, _parts(answer))


def _parts(answer: Any) -> Iterable[Any]:
    """Return what a named tuple or a dataclass holds, of which its own == and repr may leave some out."""
    if is_dataclass(answer) and not isinstance(answer, type):
        return [getattr(answer, part.name) for part in fields(answer)]
    return answer if isinstance(answer, tuple) else ()


def _canonical(answer: Hashable) -> Hashable:
    """Return the same answer, made anew: the order in a set may tell how it was made."""
    if type(answer) is tuple:
        return tuple(map(_canonical, answer))
    if type(answer) is frozenset:
        return frozenset(map(_canonical, sorted(answer, key=lambda part: (type(part).__name__, _text(part)))))
    return answer


def _text(answer: Hashable) -> str:
    """Return an answer as text that is the same for the same answers."""
    if type(answer) is tuple:
        return f"({', '.join(map(_text, answer))})"
    if type(answer) is frozenset:
        return f"{{{', '.join(sorted(map(_text, answer)))}}}"
    return f"{type(answer).__name__} {answer!r}"


# -------------------- blocks
# Blocks: every privacy unit goes to one of them by lot, and each block is purchases of its own.
#
# A block follows from the units in it, and from the lot, alone: it has no label that only other blocks have, and the
# order of its units, and of a unit's baskets, is drawn as well, since in a file other units' rows may have made it.

# Baskets without an item have no place of their own, and there may be any number of them.
_LOTS_AT_ONCE = 1 << 20


def blocks_of(data: Transactions, count: int, randomness: Randomness) -> Iterator[Transactions]:
    """Yield `count` blocks, >= 1, to one of which each unit goes: any of them with the same probability, independently.

    All lots are drawn before the first block is made. A unit keeps all it has; a block may have no unit.
    """
    if data.unit_offsets is None:
        units = np.arange(data.kept, dtype=np.int64)
        first, number = units, np.ones(data.kept, dtype=np.int64)
    else:
        units = np.arange(data.units, dtype=np.int64)
        first, number = data.unit_offsets[:-1], np.diff(data.unit_offsets)
    block = uniform_integers(count, len(units), randomness=randomness)
    units = units[np.lexsort((_keys(len(units), randomness), block))]
    ends = np.cumsum(np.bincount(block, minlength=count))
    blank = _blank(data.blank, count, randomness)
    basket_key = None if data.unit_offsets is None else _keys(data.kept, randomness)
    begin = 0
    for place, end in enumerate(ends.tolist()):
        own = units[begin:end]
        begin = end
        baskets, unit_offsets = _ranges(first[own], number[own])
        if basket_key is None:
            yield _block(data, baskets, None, int(blank[place]))
        else:
            unit = np.repeat(np.arange(len(own)), number[own])
            yield _block(data, baskets[np.lexsort((basket_key[baskets], unit))], unit_offsets, 0)


def _block(
    data: Transactions, baskets: NDArray[np.int64], unit_offsets: NDArray[np.int64] | None, blank: int
) -> Transactions:
    """Return some baskets, in this order, as purchases of their own, with the labels that occur in them alone."""
    first = data.offsets[baskets]
    entries, offsets = _ranges(first, data.offsets[baskets + 1] - first)
    return Transactions(
        offsets,
        data.items[entries],
        data.vocabulary,
        unit_offsets,
        missing_user=data.missing_user,
        blank=blank,
        where=data.where,
        query=data.query,
    ).of_occurring_items()


def _ranges(first: NDArray[np.int64], number: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the members of ranges, one range after the other, and where each range begins among them, and the end."""
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(number)])
    return np.repeat(first - offsets[:-1], number) + np.arange(offsets[-1]), offsets


def _keys(count: int, randomness: Randomness) -> NDArray[np.unsignedinteger]:
    """Return random numbers, all different: sorted by them, things stand in uniformly random order."""
    while True:
        keys = randomness.words(count, 8)
        if len(np.unique(keys)) == count:  # but for one time in 10^7 where there are a million
            return keys


def _blank(blank: int, count: int, randomness: Randomness) -> NDArray[np.int64]:
    """Return how many of the baskets without an item go to each block: (count,)."""
    found = np.zeros(count, dtype=np.int64)
    for done in range(0, blank, _LOTS_AT_ONCE):
        lots = uniform_integers(count, min(_LOTS_AT_ONCE, blank - done), randomness=randomness)
        found += np.bincount(lots, minlength=count)
    return found


# -------------------- voting
# Sample and aggregate: each block of units answers a question by itself, and their votes choose one answer.
#
# (The module's name is a gerund because `fim.vote` is a function, which would hide a module of that name.)

_MOST_BLOCKS, _MOST_VOTES = 1_000_000, 1_000_000


@takes(SourceOptions)
def vote(
    data: Any,
    question: Callable[[Transactions], Iterable[Hashable]],
    *,
    blocks: int = options.BLOCKS,
    votes: int | None = None,
    epsilon: float | Fraction = options.EPSILON,
    delta: float | Fraction = options.DELTA,
    neighbors: str = options.NEIGHBORS,
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
    blocks: int = options.BLOCKS,
    votes: int | None = None,
    epsilon: float | Fraction = options.EPSILON,
    delta: float | Fraction = options.DELTA,
    neighbors: str = options.NEIGHBORS,
    ledger: Any = None,
    dataset: str | None = None,
    progress: Progress | None = None,
    seed: int | None = None,
    stacklevel: int = 2,
    **source: Unpack[SourceOptions],
) -> Vote:
    """Return what `vote` answers, with the guarantee that it is released under. stacklevel: of warnings."""
    asked = filled("vote", SourceOptions, source)
    if not callable(question) or isinstance(question, type):
        raise ParameterError(f"{parameter('question')} must be a function of one block, not {shown(question)}")
    blocks = whole_number("blocks", blocks, least=1, most=_MOST_BLOCKS)
    if votes is None:
        votes = options.VOTES if isinstance(question, Question) else 1
    votes = whole_number("votes", votes, least=1, most=_MOST_VOTES)
    if progress is not None:
        check_function("progress", progress)
    mechanism = Choosing(exact_epsilon(epsilon), exact_delta(delta), votes, Neighbors.REPLACE_ONE)
    relation, cost = exact_neighbors(neighbors), mechanism.cost
    randomness = Randomness.of_seed(seed)
    account = account_of(ledger, dataset, private=randomness.private)
    reading, scope = _read_how(data, asked, question)
    chosen = scope.chooses_units(read_by(data, reading)[0])
    public = relation == Neighbors.REPLACE_ONE and not chosen
    due = bill(
        account,
        command="vote",
        dataset=dataset,
        by_user=counts_users(data, asked),
        neighbors=relation,
        cost=cost,
        zcdp=ZcdpCost(Fraction(cost.epsilon) ** 2 / 8, cost.delta),  # one bounded-range choice: Theorem 8
        parameters=_asked(question) | {"blocks": blocks, "votes": votes} | rows_asked(data, reading, scope),
        unit_columns=unit_columns(data, reading),
    )
    if randomness.private:
        warn(cautions(cost), stacklevel=stacklevel)
        if chosen and relation == Neighbors.REPLACE_ONE:
            warn([chosen_units_show("user" if counts_users(data, asked) else "basket")], stacklevel=stacklevel)
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


def _read_how(data: Any, asked: dict[str, Any], question: Any) -> tuple[Options, Scope]:
    """Return how to read purchases, and what of them counts, checked. A list of what is left out is read."""
    reading, by_user = reading_of(asked), counts_users(data, asked)
    check_query(data, reading.query)
    named = question if isinstance(question, Question) else None
    _, queried, folds = read_by(data, reading)
    with held_to(reading.memory):
        scope = Scope.of(
            **{name: asked[name] for name in ("exclude", "min_basket", "together")},
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
