"""What a vote gives: an answer, or none, and the guarantee that it is released under."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fim_private import defaults
from fim_private.dp.charge import Charged
from fim_private.dp.cost import PrivacyCost
from fim_private.glance import printable
from fim_private.learning.questions import Question
from fim_private.mechanisms import Choosing
from fim_private.mechanisms.prospects import prospects
from fim_private.mining import wording
from fim_private.mining.plain_values import SCHEMA
from fim_private.mining.scope import Scope


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
        support = prospects(self.mechanism, defaults.CONFIDENCE).support
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
            return wording.SEEDED
        protected = wording.protected(self.privacy_unit, self.missing_user)
        return wording.guarantee(
            "vote",
            self.cost,
            wording.change(self.neighbors, protected, where=self.where is not None, query=self.scope.query),
        )

    @property
    def told(self) -> tuple[str, ...]:
        """Which rows were read, and what of them counted, in sentences."""
        return (*wording.rows_where(self.where), *self.scope.told(self.privacy_unit))

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
