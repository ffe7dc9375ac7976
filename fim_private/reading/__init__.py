"""Reading: purchases in every form in which they are kept, to `Transactions`; and the public list of items.

purchases            `read_transactions`, and the heads of tables.
options              What a caller says of a source: form, delimiter, columns, segments, missing users.
columns              Which column has which role, and what a source was read as.
where                Which rows are read: the parser of conditions, what they let pass, and what need not be read.
values               Arrow to numpy, and what stands for no value, or for true and false.
labels               Item labels to codes, and the vocabulary.
files                Paths, addresses, patterns and standard input, to files; their errors.
text_blocks          Text as blocks of whole lines.
text                 Text: FIMI, SPMF, CSV, JSON Lines.
other_readings       What else a text may be; cells with lists of items.
record_batches       Anything that arrives as Arrow record batches: ids, joint items, cells of one-hot tables.
parquet              Parquet and Arrow files, read in parts.
workbooks            Workbooks of Excel.
databases            Databases, through their Arrow drivers.
frames               Purchases in memory: lists, frames, matrices, Arrow objects.
sources              What a path, a pattern or an address stands for: one file, several, or a table.
transactions         Transactions: the one in-memory form of purchases; rows put together to it; units of each segment.
contribution_bounds  Where long baskets, users of many baskets and units of many items are cut.
memory               How much memory a read may take, and how much is worked on at a time.
catalogue            The public list of items, from text or tables.
inspection           What would be read of a source, and how, for its holder's eyes.
"""

from fim_private.reading.purchases import read_catalogue, read_transactions

__all__ = ["read_catalogue", "read_transactions"]
