"""The exception family, and the warning. Every message is one line: what is wrong, where, what to
do.

Messages never name an item, a basket or a count. An error is an output, and only a mechanism may
release anything that depends on the data. A message marks parameters, with `parameter`; the code
that shows the error spells them. A value that a caller or a file chose goes in as `repr` writes it.
"""

import numbers
import warnings
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

# Around each parameter's name, until the error is made: no character of any text, and one that repr
# escapes.
_MARK = "\ufdd0"
_LONGEST = 60  # so much of a value is shown, at most


def parameter(name: str) -> str:
    """Return the name of a parameter, as Python spells it, marked for the message of an error."""
    return f"{_MARK}{name}{_MARK}"


def shown(value: object) -> str:
    """Return a value that a caller gave: a number or text, shortened; of all else, which may have
    data, the type.
    """
    if isinstance(value, str):
        if len(value) > _LONGEST:
            value = f"{value[: _LONGEST - 2]}…"
        return repr(value)
    most = 10**_LONGEST  # numpy's numbers are never longer
    if isinstance(value, int | Fraction) and max(abs(value.numerator), value.denominator) >= most:
        return f"a number of more than {_LONGEST} digits"
    if value is None or isinstance(value, numbers.Number):
        return repr(value)
    kind = type(value).__name__
    article = "an" if kind[0] in "aeiouAEIOU" else "a"
    return f"{article} {kind}"


class Marked(Exception):  # noqa: N818 - of warnings, too
    """An error or a warning with its parameters marked in the message; as text it names them as
    Python does.
    """

    def __init__(self, message: str = "") -> None:
        # Text and names in turn, text first, beside the plain message, so that args and repr have
        # no marks.
        self._turns = tuple(message.split(_MARK))
        super().__init__("".join(self._turns))

    @property
    def marked(self) -> str:
        """The message with its marks; another process can make the same error from it."""
        return _MARK.join(self._turns)

    def spelled(self, spell: Callable[[str], str]) -> str:
        """Return the message with each parameter, and nothing else, named by spell."""
        turns = [*self._turns]
        turns[1::2] = map(spell, turns[1::2])
        return "".join(turns)


class FimPrivateError(Marked):
    """Base of every error this package raises on purpose."""


class PrivacyWarning(Marked, UserWarning):
    """The request is allowed, but promises little, or less than you may mean; `warnings` can
    silence it.
    """


def warn(messages: Iterable[str], *, stacklevel: int) -> None:
    """Issue each as a PrivacyWarning. stacklevel: 1 for the line that calls this function, 2 for
    its caller's, …
    """
    for message in messages:
        warnings.warn(PrivacyWarning(message), stacklevel=stacklevel + 1)


class ParameterError(FimPrivateError, ValueError):
    """A parameter is outside its range, or two parameters contradict each other."""


class DataError(FimPrivateError):
    """A source cannot be read as baskets.

    Attributes:
        options: The options that the message names and with which the source may be read. They are
            empty if only the owner of the data knows them, and None if no option helps.
        is_of_a_line: Whether a line of a text is damaged. Only `inspect` may say which.
    """

    def __init__(
        self,
        message: str = "",
        *,
        options: Mapping[str, Any] | None = None,
        is_of_a_line: bool = False,
    ) -> None:
        super().__init__(message)
        self.options = options
        self.is_of_a_line = is_of_a_line


class MissingExtraError(FimPrivateError, ImportError):
    """A package of an optional extra is not installed."""


class WorkLimitError(FimPrivateError):
    """A count would take, or took, more steps than max_work allows. Its message has the order of
    that number.
    """


class MemoryLimitError(FimPrivateError):
    """Reading or counting a source would take, or took, more memory than max_memory allows."""


class OutputError(FimPrivateError):
    """A file cannot be written where it was asked for."""


class LedgerError(FimPrivateError):
    """A ledger refuses a release, or cannot be read or written."""


class NoLedgerError(LedgerError):
    """There is no ledger of the name that was given, or it is taken: nothing was refused."""
