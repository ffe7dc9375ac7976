"""The ledger: what the releases of a data set have spent, and what they may still spend.

ledger      The budget of a data set: it is created, charged, renewed, exported and imported.
statement   What a ledger adds up to at one moment: what is spent, left, refused and shown.
chain       The hash chain: the terms, and the entries, each with the hash of the one before.
storage     Where a ledger is kept: what a file and a database have in common.
files       A ledger in a file.
postgresql  A ledger in PostgreSQL, which many machines share.
witness     What this machine saw of a ledger last.
"""
