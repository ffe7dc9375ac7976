"""Sample and aggregate: blocks of units answer a question, and their votes choose one answer."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from functools import cache, partial
from heapq import nlargest
from itertools import chain
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from fim_private import options
from fim_private.counting.counter import Places, lowest_listed
from fim_private.counting.portable import spread
from fim_private.counting.source import LocalSource, counter_for
from fim_private.counting.work import Int64
from fim_private.display import JsonObject, printable
from fim_private.dp.accountant import Choices, Step, StepComposition
from fim_private.dp.arguments import check_function, whole_number
from fim_private.dp.charge import Charged
from fim_private.dp.composition import PrivacyBudget
from fim_private.dp.cost import Number, PrivacyCost, at_least
from fim_private.dp.neighbors import Neighbors, exact_neighbors
from fim_private.dp.noise import Randomness, uniform_integers
from fim_private.errors import ParameterError, parameter, shown
from fim_private.mechanisms import Choosing
from fim_private.mechanisms.needs import prospects
from fim_private.options.declaration import OptionValues, filled, takes
from fim_private.options.requests import VoteOptions
from fim_private.reading.labels import Item
from fim_private.reading.memory import limit_memory
from fim_private.reading.transactions import Transactions
from fim_private.reading.values import offsets_of
from fim_private.release import words
from fim_private.release.forms import SCHEMA, VOTE
from fim_private.release.words import NOT_INDEPENDENCE, braces
from fim_private.request.plan import ReleasePlan
from fim_private.request.scope import Scope
from fim_private.request.supports import exact_share
from fim_private.run.run import Run, Spending
from fim_private.spectrum import SupportSpectrum

# A block with more itemsets to compare than this has no vote: to list them would take too much
# memory.
_MOST_LISTED = 1 << 21
_NEARLY = 1e-9  # ratios that differ by less, relatively, are compared exactly

# What a block answers to a question with a name: an itemset, or the two sides of a rule.
Answer = tuple[Any, ...]
Ask = Callable[[Transactions], Iterable[Hashable]]  # sees one block, and returns its answers


@dataclass(frozen=True)
class _OfPairs(ABC):
    """A question about the pairs of items that a share of a block's units have, ties in label
    order.
    """

    name: ClassVar[str]
    sought: ClassVar[str]
    min_share: Number | str

    def __post_init__(self) -> None:
        _ = self._share  # raises for no share

    @property
    def _share(self) -> Fraction:
        return exact_share("min_share", self.min_share)

    def __call__(self, block: Transactions, count: int = 1) -> list[Answer]:
        least = max(1, math.ceil(self._share * block.units))
        counter = counter_for(block, 2, least)
        top = counter.top(None, _MOST_LISTED)
        if top.floor > least or sum(multiplicity for _, multiplicity in top.levels) > _MOST_LISTED:
            raise ValueError("more pairs than are compared: such a block has no vote")
        codes, supports = counter.itemsets(least, block.units)
        codes = np.sort(codes, axis=1)
        order = np.lexsort(codes.T[::-1])  # codes are in the order of labels
        best = self._best(codes[order], supports[order], counter.item_supports, count)
        return [self._answer(_labels(block, pair)) for pair in best]

    @abstractmethod
    def _best(self, pairs: Int64, supports: Int64, item_supports: Int64, count: int) -> Int64:
        """Return the best pairs, at most `count`: (n, 2) codes, in the order of an answer."""

    def _answer(self, pair: tuple[Item, ...]) -> Answer:
        return pair

    def _recorded(self, plain: Callable[[Fraction], object]) -> JsonObject:
        return {"question": self.name, "min_share": plain(self._share)}

    def _title(self, unit: str) -> str:
        percent = at_least(100 * self._share)
        return f"{self.sought} among pairs of items that {percent} % of the {unit}s have"


@dataclass(frozen=True)
class HighestLift(_OfPairs):
    """Which pair of items has the highest lift, among pairs that at least min_share of a block's
    units have.

    min_share: above 0 and below 1, as 0.04, "0.04", "4%" or a Fraction; else it raises
    ParameterError. The lift is n x / (y z), with x of n units that have both, y and z that have
    one. The answer is the pair, in label order.
    """

    name: ClassVar[str] = "highest-lift"
    sought: ClassVar[str] = "the highest lift"

    def _best(self, pairs: Int64, supports: Int64, item_supports: Int64, count: int) -> Int64:
        expected = item_supports[pairs].prod(axis=1)
        return pairs[_highest(supports, expected, count)]


@dataclass(frozen=True)
class HighestConfidence(_OfPairs):
    """Which rule a → b has the highest confidence, among pairs that at least min_share of a block's
    units have.

    It is x / y, with x units that have both and y that have a. The answer is ((a,), (b,)).
    min_share: as in HighestLift.
    """

    name: ClassVar[str] = "highest-confidence"
    sought: ClassVar[str] = "the rule of highest confidence"

    def _best(self, pairs: Int64, supports: Int64, item_supports: Int64, count: int) -> Int64:
        rules = np.concatenate([pairs, pairs[:, ::-1]])
        of_left_sides = item_supports[rules[:, 0]]
        return rules[_highest(np.tile(supports, 2), of_left_sides, count)]

    def _answer(self, pair: tuple[Item, ...]) -> Answer:
        left, right = pair
        return (left,), (right,)


@dataclass(frozen=True)
class MostFrequent:
    """Which itemset of a size most of a block's units have. (To find it in all of the data, `mine`
    needs less.)

    size: 1 to 16; else it raises ParameterError. The answer is the itemset, in label order.
    """

    name: ClassVar[str] = "most-frequent"
    size: int = options.SIZE

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole_number("size", self.size, least=1, most=16))

    def __call__(self, block: Transactions, count: int = 1) -> list[Answer]:
        """Return the best answers of a block, the best first, and at most `count` >= 1."""
        counter = counter_for(block, self.size, 1)
        levels = counter.top(None, count).levels
        places: list[Places] = []
        missing = count
        for support, number in levels:
            if not missing:
                break
            taken = min(number, missing)
            places.append((support, range(taken)))
            missing -= taken
        if not places:
            return []
        lowest = lowest_listed(places, SupportSpectrum(levels))
        itemsets = chain(*counter.located(places, lowest))
        return [_labels(block, sorted(codes)) for codes in itemsets]

    def _recorded(self, plain: Callable[[Fraction], object]) -> JsonObject:
        return {"question": self.name, "size": self.size}

    def _title(self, unit: str) -> str:
        if self.size == 1:
            return "the most frequent item"
        return f"the most frequent itemset of {self.size} items"


Question = _OfPairs | MostFrequent
_OF_PAIRS: dict[str, type[_OfPairs]] = {
    kind.name: kind for kind in (HighestLift, HighestConfidence)
}


def named_question(
    name: str, *, min_share: Number | str | None = None, size: int | None = None
) -> Question:
    """Return the question of a name.

    Raises ParameterError for another name, and for what it needs or has no use for.
    """
    question = f"{parameter('question')} {name}"
    if name == MostFrequent.name:
        if min_share is not None:
            raise ParameterError(
                f"leave out {parameter('min_share')}: {question} has no use for it"
            )
        return MostFrequent() if size is None else MostFrequent(size)
    if name not in _OF_PAIRS:
        names = ", ".join([*_OF_PAIRS, MostFrequent.name])
        raise ParameterError(f"{parameter('question')} must be one of {names}, not {shown(name)}")
    if size is not None:
        raise ParameterError(f"leave out {parameter('size')}: {question} is about pairs")
    if min_share is None:
        share = "which share of a block must have a pair for it to count, such as 0.04"
        raise ParameterError(f"{question} needs {parameter('min_share')}: {share}")
    return _OF_PAIRS[name](min_share)


def _highest(above: Int64, below: Int64, count: int) -> list[int]:
    """Return the places of the highest ratios above / below, all >= 1, at most count, descending,
    exactly, stable.
    """
    ratios = above / below.astype(np.float64)
    least = np.sort(ratios)[-count:].min(initial=np.inf)
    near = np.flatnonzero(ratios >= least * (1 - _NEARLY)).tolist()
    exact = cache(Fraction)  # there may be millions of them, but few different ones
    return nlargest(count, near, key=lambda place: exact(int(above[place]), int(below[place])))


def _labels(block: Transactions, codes: Iterable[int]) -> tuple[Item, ...]:
    return tuple(block.vocabulary.label(int(code)) for code in codes)


@dataclass(frozen=True, repr=False)
class Vote:
    """The released answer of a vote. The number of blocks that gave it stays secret.

    election: what was voted on, and how. units: their number, only where that is public.
    """

    answer: Any
    election: Election
    privacy_unit: str
    private: bool
    units: int | None
    missing_user: str | None
    where: str | None
    scope: Scope
    charged: Charged | None

    @property
    def abstained(self) -> bool:
        """Whether the vote gave no answer, which is a valid private answer."""
        return self.answer is None

    @property
    def cost(self) -> PrivacyCost:
        """The (epsilon, delta) that was spent."""
        return self.election.mechanism.cost

    @property
    def title(self) -> str:
        """What was asked and how it was voted on, in a line."""
        title = "the answer"
        if self.election.named is not None:
            title = self.election.named._title(self.privacy_unit)
        blocks = words.number_of(self.election.blocks, "block")
        return f"{title[0].upper()}{title[1:]}, by a vote of {blocks}"

    @property
    def text(self) -> str:
        """The answer as text."""
        question = self.election.named
        if self.abstained:
            return "The vote abstained: too few blocks agree on an answer."
        if question is None:
            return printable(str(self.answer))
        sides = self.answer if isinstance(question, HighestConfidence) else [self.answer]
        return " → ".join(braces(side, self.privacy_unit) for side in sides)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences on how answers came about, how many it takes, and which rows counted."""
        election = self.election
        support = prospects(election.mechanism, options.CONFIDENCE).support
        assert support is not None  # enough votes always are enough
        answers = "its answer" if election.votes == 1 else f"its best {election.votes:,} answers"
        names = f"An answer comes out with 95 % probability once about {support:,} blocks give it"
        if support > election.blocks:
            names += ", but there are fewer. Take more blocks, or a larger ε."
        elif self.abstained:
            names += ". To find more, take more blocks, or more answers of each."
        else:
            names += "."
        return (
            f"Each {self.privacy_unit} went to a random block, and each block gave {answers}.",
            names,
            *words.rows_where(self.where),
            *self.scope.sentences(self.privacy_unit),
        )

    @property
    def guarantee(self) -> str:
        """The guarantee, in one sentence."""
        if not self.private:
            return words.SEEDED
        return words.guarantee("vote", self.election.neighbors, self)

    def to_dict(self) -> JsonObject:
        """Return plain values, as in JSON (docs/json.md)."""
        election, answer = self.election, self.answer
        if isinstance(election.named, HighestConfidence) and not self.abstained:
            answer = dict(zip(("antecedents", "consequents"), map(list, answer), strict=True))
        elif election.named is not None and not self.abstained:
            answer = {"items": list(answer)}
        values: JsonObject = {
            "schema": SCHEMA,
            "private": self.private,
            "mechanism": VOTE,
            **election.recorded(float),
            "epsilon": float(self.cost.epsilon),
            "delta": float(self.cost.delta),
            "neighbors": str(election.neighbors),
            "privacy_unit": self.privacy_unit,
            "guarantee": self.guarantee,
            "units": self.units,
            "where": self.where,
            **self.scope.to_dict(),
            "abstained": self.abstained,
            "answer": answer,
            "ledger": self.charged and self.charged.to_dict(),
        }
        # The answer is null if the vote abstained; what was not asked for has no key.
        return {
            name: value for name, value in values.items() if value is not None or name == "answer"
        }


# Two answers are the same if they are of one type, print alike and are equal: 1, True and 1.0 are
# three answers, and so are 0.0 and -0.0; and so are their members, of tuples, frozensets and
# dataclasses, also those that == or repr leaves out. Otherwise the one that is returned could tell
# which block gave it.
_Key = tuple[Any, ...]


@dataclass
class Ballots:
    """How many blocks gave each answer. most: how many different ones a block may give; with more
    it has no vote.
    """

    most: int
    counts: Counter[_Key] = field(default_factory=Counter)
    _answers: dict[_Key, Hashable] = field(default_factory=dict)

    def ask(self, question: Ask, block: Transactions) -> None:
        """Add the answers of a block; none of them where the question fails, or gives more than it
        may, or None.
        """
        ballot: dict[_Key, Hashable] = {}
        try:
            answers = question(block)
            if isinstance(answers, str | bytes):  # a text is one answer
                answers = (answers,)
            for answer in answers:
                if answer is None:
                    return
                ballot[_key(answer)] = _canonical(answer)
                if len(ballot) > self.most:
                    return
        except (MemoryError, KeyboardInterrupt, SystemExit):  # also of a signal
            raise
        # Whether it fails follows from the block alone, and so must not show. A panic of Rust, as
        # in polars, is no Exception.
        except BaseException:
            return
        self.counts.update(ballot.keys())
        for key, answer in ballot.items():
            self._answers.setdefault(key, answer)

    def choose(self, mechanism: Choosing, randomness: Randomness) -> Any:
        """Choose an answer by its votes; those with equally many are equally likely. None for
        abstaining.
        """
        level = mechanism.select(
            SupportSpectrum.from_supports(self.counts.values()), randomness
        ).level
        tied = [self._answers[key] for key, number in self.counts.items() if number == level]
        return tied[randomness.below(len(tied))] if tied else None


def _key(answer: Hashable) -> _Key:
    """Return what is equal for the same answers only. Raises TypeError for what has no hash."""
    if type(answer) is tuple:
        return (tuple, *map(_key, answer))
    if type(answer) is frozenset:
        return frozenset, frozenset(map(_key, answer))
    hash(answer)
    members: Iterable[object] = answer if isinstance(answer, tuple) else ()
    if is_dataclass(answer) and not isinstance(answer, type):
        members = [getattr(answer, member.name) for member in fields(answer)]
    return type(answer), repr(answer), answer, *map(_key, members)


def _canonical(answer: Hashable) -> Hashable:
    """Return the same answer, made anew: the order in a set may tell how it was made."""
    if type(answer) is tuple:
        return tuple(map(_canonical, answer))
    if type(answer) is frozenset:
        return frozenset(map(_canonical, sorted(answer, key=_text)))
    return answer


def _text(answer: Hashable) -> str:
    if type(answer) is tuple:
        return f"({', '.join(map(_text, answer))})"
    if type(answer) is frozenset:
        return f"{{{', '.join(sorted(map(_text, answer)))}}}"
    return f"{type(answer).__name__} {answer!r}"


_LOTS_AT_ONCE = 1 << 20  # of baskets without an item, of which there may be any number


def blocks_of(data: Transactions, count: int, randomness: Randomness) -> Iterator[Transactions]:
    """Yield `count` blocks, >= 1. Each unit goes to one of them, with the same probability for
    each, independently.

    A block follows from its units, and from chance, alone. It has no label that only other blocks
    have. The order of its units, and of a unit's baskets, is drawn as well, since in a file other
    units' rows may have made it.
    """
    offsets = np.arange(data.stored + 1) if data.unit_offsets is None else data.unit_offsets
    first, number = offsets[:-1], np.diff(offsets)
    lots = uniform_integers(count, len(first), randomness)
    units = np.lexsort((_keys(len(lots), randomness), lots))
    ends = np.cumsum(np.bincount(lots, minlength=count)).tolist()
    blank = np.zeros(count, dtype=np.int64)
    for done in range(0, data.blank, _LOTS_AT_ONCE):
        blank_lots = uniform_integers(count, min(_LOTS_AT_ONCE, data.blank - done), randomness)
        blank += np.bincount(blank_lots, minlength=count)
    basket_key = _keys(data.stored, randomness) if data.by_user else None
    for begin, end, blank_units in zip([0, *ends], ends, blank.tolist(), strict=False):
        members = units[begin:end]
        baskets = spread(first[members], number[members])
        if basket_key is not None:
            unit = np.repeat(np.arange(len(members)), number[members])
            baskets = baskets[np.lexsort((basket_key[baskets], unit))]
        starts = data.offsets[baskets]
        lengths = data.offsets[baskets + 1] - starts
        unit_offsets = offsets_of(number[members]) if data.by_user else None
        yield Transactions(
            offsets_of(lengths),
            data.items[spread(starts, lengths)],
            data.vocabulary,
            unit_offsets,
            blank_units,
            reading=data.reading,
        ).of_occurring_items()


def _keys(count: int, randomness: Randomness) -> NDArray[np.unsignedinteger]:
    """Return random numbers, all different: to sort by them is to shuffle uniformly."""
    while True:
        keys = randomness.words(count, 8)
        if len(np.unique(keys)) == count:  # but for one time in 10^7 where there are a million
            return keys


@takes(VoteOptions)
def vote(data: object, question: Ask, **options: Unpack[VoteOptions]) -> Any:
    """Answer any question about purchases, (epsilon, delta)-differentially private for each basket
    or each user.

    Every unit goes to a random block, and each block answers the question by itself. One answer is
    chosen by how many blocks gave it, or none if too few agree ("sample and aggregate").

    data: the purchases, as in mine.
    question: one with a name, such as fim.HighestLift(min_share=0.04), or a function that is called
        with each block, as Transactions, in random order. It returns a list of at most `votes`
        answers, each with a hash; a text is one. An empty list, more answers, None, and an error
        count as no vote: try it on made-up data first. (MemoryError, KeyboardInterrupt and
        SystemExit end the run.) It must look at nothing but the block, and keep nothing from one to
        the next.
    blocks: 1 to 1,000,000, public. At epsilon 1 and delta 1e-6 an answer needs some 37 votes.
    votes: 1 to 1,000,000. By default 1, but 2 for a question with a name, since one block's best is
    another's second.
    epsilon: 1e-9 to 1e9. delta: 1e-300 up to below 1. The guarantee holds under both neighbour
    relations.
    ledger: the charge is on the disk before a block is made. progress: called after each block.

    Returns the answer, or None if the vote abstained, which also spends the budget. Two answers are
    the same if they have one type, print alike and are equal; in a dataclass all fields count. An
    object of your own class must hold nothing beyond what its == compares and its repr prints. The
    very object of one block is returned. Its == is called across blocks and must never fail. Raises
    and warns as mine does. Source: Nissim, Raskhodnikova and Smith, "Smooth sensitivity and
    sampling in private data analysis" (2007); docs/privacy.md, Theorem 20.
    """
    return voted(data, question, stacklevel=3, **options).answer


@dataclass(frozen=True)
class Election:
    """What is voted on, and how: all checked before anything is read.

    Attributes:
        question: The function that each block is given.
        named: The same question, if it has a name.
        blocks: How many blocks there are.
        votes: How many answers a block may give.
        progress: A function that is told the share of the blocks that are done.
        mechanism: What chooses among the answers.
        neighbors: The relation under which the guarantee is stated.
    """

    question: Ask
    named: Question | None
    blocks: int
    votes: int
    progress: Callable[[float], None] | None
    mechanism: Choosing
    neighbors: str

    @classmethod
    def of(cls, question: Ask, values: OptionValues) -> Election:
        """Return what all the options of `vote` say; ParameterError for one that is wrong."""
        if not callable(question) or isinstance(question, type):
            raise ParameterError(
                f"{parameter('question')} must be a function of one block, not {shown(question)}"
            )
        named = question if isinstance(question, Question) else None
        blocks = whole_number("blocks", values["blocks"], least=1, most=1_000_000)
        votes = values["votes"]
        if votes is None:
            votes = 1 if named is None else options.VOTES
        votes = whole_number("votes", votes, least=1, most=1_000_000)
        progress = values["progress"]
        if progress is not None:
            check_function("progress", progress)
        epsilon = values["epsilon"]
        if epsilon is None:
            epsilon = options.EPSILON
        mechanism = Choosing(epsilon, values["delta"], votes, Neighbors.REPLACE_ONE)
        neighbors = exact_neighbors(values["neighbors"])
        return cls(question, named, blocks, votes, progress, mechanism, neighbors)

    @property
    def plan(self) -> ReleasePlan:
        """The plan of the vote: one choice, whose odds change by e^ε at most."""
        cost = self.mechanism.cost
        budget = PrivacyBudget.of(cost.epsilon, cost.delta)
        choice = Choices(1, cost.epsilon, bounded_range=True)
        step = Step("vote", (), Fraction(1), cost.epsilon, cost.delta, choices=choice)
        return ReleasePlan((step,), budget, StepComposition.BASIC)

    def recorded(self, plain: Callable[[Fraction], object]) -> JsonObject:
        """Return what is recorded of it: nothing of a question without a name.

        plain: makes a share a plain value.
        """
        counts: JsonObject = {"blocks": self.blocks, "votes": self.votes}
        return counts if self.named is None else self.named._recorded(plain) | counts

    def hold(self, purchases: Transactions, randomness: Randomness) -> Ballots:
        """Return the ballots of all blocks."""
        question = self.question
        if self.named is not None:
            question = partial(self.named, count=self.votes)
        ballots = Ballots(self.votes)
        for done, block in enumerate(blocks_of(purchases, self.blocks, randomness), 1):
            ballots.ask(question, block)
            if self.progress is not None:
                self.progress(done / self.blocks)
        return ballots


def voted(
    data: object, question: Ask, *, stacklevel: int = 2, **options: Unpack[VoteOptions]
) -> Vote:
    """Return what `vote` answers, with the guarantee of it. `stacklevel` is that of warnings."""
    values = filled("vote", VoteOptions, options)
    election = Election.of(question, values)
    run = Run(data, values)
    with limit_memory(run.reading.memory):
        scope = run.scope(rules=isinstance(election.named, _OfPairs))
    if isinstance(election.named, HighestLift) and not scope.has_lifts(run.unit):
        raise ParameterError(
            f"{parameter('question')} {election.named.name} of users needs "
            f"{parameter('together')} user: {NOT_INDEPENDENCE}"
        )
    promise = run.promise(scope)
    spending = Spending("vote", promise, (election.plan,), election.recorded(at_least))
    with run.charged(spending, scope, stacklevel=stacklevel + 2) as ((opened,), charged):
        assert isinstance(opened.source, LocalSource)
        purchases = opened.source.transactions.united()
        ballots = election.hold(purchases, run.randomness)
    return Vote(
        answer=ballots.choose(election.mechanism, run.randomness),
        election=election,
        privacy_unit=opened.unit,
        private=run.randomness.private,
        units=purchases.units if promise.units_are_public else None,
        missing_user=opened.missing_user,
        where=run.where,
        scope=opened.scope,
        charged=charged,
    )
