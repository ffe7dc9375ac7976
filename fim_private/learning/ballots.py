"""What blocks answer: at most so many answers each, no matter what a question does, and which answers are the same.

Two answers are the same if they are of one type, print alike and are equal: 1, True and 1.0 are three answers, and so
are 0.0 and -0.0; and so are their parts, of tuples, frozensets and dataclasses, also those that a dataclass leaves out
of its == or of what it prints. Otherwise the one that is returned could tell which block gave it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from fim_private.reading.transactions import Transactions

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
