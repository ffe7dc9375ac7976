"""The ledger: what the releases of a data set have spent, and what they may still spend.

ledger     The budget of a data set, in a file: it is created, charged and renewed.
statement  What a ledger adds up to at one moment: what is spent, left, refused and shown.
chain      The hash chain: the terms, and the entries, each with the hash of the one before.
storage    The file of a ledger, and what this machine saw of it last.
"""
