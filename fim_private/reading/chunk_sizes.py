"""How much is worked on at a time, whatever the source: what is in flight stays small beside what was read."""

from __future__ import annotations

# Rows of long formats, and of lists of a few items.
LONG_ROWS = 1 << 17
LIST_ROWS = 1 << 14
# Cells of a table or matrix with a column for each item.
ONE_HOT_CELLS = 1 << 24
# Items of baskets that are put together: the temporaries are about 40 bytes an item.
ENTRIES = 1 << 18
# Bytes of a text file.
BLOCK_BYTES = 1 << 21
