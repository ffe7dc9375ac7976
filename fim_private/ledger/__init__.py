"""The ledger: what the releases of a data set have spent, and what they may still spend.

ledger     The budget of a data set, kept in a file.
statement  What a ledger says: its terms, its entries in a hash chain, what they add up to, and what is left.
storage    The file of a ledger, and what this machine saw of it last.
"""
