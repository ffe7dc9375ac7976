"""SPMF's format for sequences: a line is what one user bought, in baskets that end in -1; the line ends in -2.

Lines that begin with %, # or @ are comments, but for those that name an item, which stand before all users:
``@ITEM=7=apple``. A line without -1 and -2, as SPMF writes baskets of which nobody is known to have bought two, is a
user with one basket.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fim_private.errors import DataError
from fim_private.reading.arrow_labels import ArrowLabels
from fim_private.reading.arrow_numpy import arrow_of, arrow_strings
from fim_private.reading.assembly import KeyedRows, assemble
from fim_private.reading.transactions import Transactions

_COMMENTS = ("%", "#", "@")
_BASKET_END, _LINE_END = "-1", "-2"


def read_sequences(blocks: Iterator[bytes], labels: ArrowLabels) -> Transactions:
    """Read users, one a line, and their baskets.

    Raises DataError for names of items behind a user, UnicodeDecodeError for text that is not UTF-8.
    """
    return assemble(_rows(blocks, labels), labels)


def _rows(blocks: Iterator[bytes], labels: ArrowLabels) -> Iterator[KeyedRows]:
    """Yield the baskets of each block, under the number of their line."""
    names: dict[str, str] = {}
    line_number = 0
    for block in blocks:
        users, baskets = [], []
        for line in block.decode().split("\n")[:-1]:
            if line.startswith(_COMMENTS):
                _, _, definition = line.partition("@ITEM=")
                code, _, name = definition.partition("=")
                if name and line_number:
                    # What one line means may not depend on where it stands.
                    raise DataError("a line that names an item, @ITEM=…, stands behind a user; put these lines first")
                if name:
                    names[code.strip()] = name
                continue
            if not line.strip():
                continue
            line_number += 1
            for basket in _baskets(line.split()):
                users.append(line_number)
                baskets.append([names.get(token, token) for token in basket])
        lengths = np.array([len(basket) for basket in baskets], dtype=np.int64)
        codes = labels.encode(arrow_strings([token for basket in baskets for token in basket]))
        yield KeyedRows(lengths, codes, users=arrow_of(np.array(users, dtype=np.int64)))


def _baskets(tokens: list[str]) -> list[list[str]]:
    """Return the baskets of a line, one at least: a user of whom nothing is known is a user."""
    baskets: list[list[str]] = [[]]
    for token in tokens:
        if token == _LINE_END:
            break
        if token == _BASKET_END:
            baskets.append([])
        else:
            baskets[-1].append(token)
    return [basket for basket in baskets if basket] or [[]]
