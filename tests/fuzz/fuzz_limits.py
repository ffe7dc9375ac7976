"""What no input may cost; and an answer, or one line that says what is wrong."""

import resource
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from fim_private.errors import FimPrivateError
from fim_private.reading.transactions import Transactions

SECONDS = 20
MEGABYTES = 1_000


class TooSlowError(Exception):
    """An input took longer than any may."""


@contextmanager
def within_limits() -> Iterator[None]:
    """Fail where the block takes longer, or lets the process grow by more, than any input may."""

    def ring(*_: Any) -> None:
        raise TooSlowError(f"more than {SECONDS} s")

    before = peak_megabytes()
    # Seconds of this process, which a busy machine does not lengthen; and ten times as many on the
    # clock, for one that waits for ever.
    timers = {signal.SIGPROF: (signal.ITIMER_PROF, SECONDS)}
    timers[signal.SIGALRM] = (signal.ITIMER_REAL, 10 * SECONDS)
    previous = {number: signal.signal(number, ring) for number in timers}
    for timer, seconds in timers.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for number, (timer, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, previous[number])
    assert peak_megabytes() - before < MEGABYTES


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def outcome(ask: Callable[[], Any]) -> Any:
    """What asking gives, or the message of one of our errors; anything else is a fault."""
    with within_limits(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ask()
        except FimPrivateError as error:
            check_message(error)
            return error


def check_message(error: FimPrivateError) -> None:
    """An error is one line, and not a long one."""
    for shown in (str(error), error.spelled(lambda name: f"--{name}")):
        assert shown, "an error without words"
        assert shown.isprintable(), f"not one line: {shown!r}"
        assert len(shown) < 2_000, "an error of many words"


def check_transactions(data: Transactions) -> None:
    """What is read keeps the promises of its class."""
    offsets, items = data.offsets.tolist(), data.items.tolist()
    assert offsets[0] == 0
    assert offsets[-1] == len(items)
    labels = [data.vocabulary.label(code) for code in range(len(data.vocabulary))]
    assert len(set(map(repr, labels))) == len(labels)
    assert all(label == label.strip() for label in labels if isinstance(label, str))
    for start, end in pairwise(offsets):
        assert start <= end
        assert all(a < b for a, b in pairwise(items[start:end]))
    assert set(items) <= set(range(len(labels)))
    if data.unit_offsets is not None:
        assert data.unit_offsets.tolist() == sorted(data.unit_offsets.tolist())
        assert int(data.unit_offsets[-1]) == len(offsets) - 1
