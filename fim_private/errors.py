"""The exception family. Every message is one line: what is wrong, where, what to do.

Messages name parameters, columns and files. They never name an item, a basket or a count: an error
is an output, and what depends on the data leaves only through a mechanism.
"""


class FimPrivateError(Exception):
    """Base of every error this package raises on purpose."""


class ParameterError(FimPrivateError, ValueError):
    """A parameter is outside its range, or two parameters contradict each other."""


class DataError(FimPrivateError):
    """A source cannot be read as baskets: missing file, wrong format, wrong column."""


class WorkLimitError(FimPrivateError):
    """A count would take, or took, more steps than max_work allows. Its message tells the order of that number."""


class OutputError(FimPrivateError):
    """A release cannot be written where it was asked to go."""
