"""Reading: purchases in every form in which they are stored, to `Transactions`; and the public list
of items.

purchases            `read_transactions`: from any source to purchases; `read_catalogue`: the public
                     list of items.
options              What a caller says of a source: form, delimiter, columns, segments, missing
                     users.
columns              Which column has which role, and what a source was read as.
where                Which rows are read: the parser of conditions, what they let pass, and what
                     need not be read.
times                How times are written in texts: ISO 8601, days with dots, and formats.
notations            Whether texts are written as a condition, or a format, expects.
values               Arrow to numpy, and what stands for no value, or for true and false.
labels               Item labels to codes, and the vocabulary.
locations            Where purchases are: a path, an address, a database, or an object in memory.
files                Paths, addresses, patterns and standard input, to files; their errors.
text                 Text: FIMI, SPMF, and CSV.
json_lines           JSON Lines.
lists_in_cells       Lists of items in a cell or a line: how they are cut, and what seems to be one.
other_readings       What else a text, or a list of rows, may be; titles above tables.
record_batches       Anything that arrives as Arrow record batches.
sources              What a path or an address stands for: Parquet, Arrow, Excel, several files as
                     one table.
databases            Databases, through their Arrow drivers.
frames               Purchases in memory: lists, frames, matrices, Arrow objects.
transactions         Transactions: the one in-memory form of purchases; rows put together to it;
                     units of each segment.
grouping             The compiled loops that bring rows together to baskets and units.
portable_grouping    The same in numpy, where there was no compiler.
contribution_bounds  Where long baskets, users of many baskets and units of many items are cut.
memory               How much memory a read may take, and how much is worked on at a time.
inspection           What would be read of a source, and how, for the eyes of whoever has it; which
                     columns hold times.
misreadings          What is easily misread in purchases, in notes for the same eyes.
"""

from fim_private.reading.purchases import read_catalogue, read_transactions

__all__ = ["read_catalogue", "read_transactions"]
