"""Counting in a database: purchases stay in its tables, and sums of whole numbers come back.

session     Connections, the temporary tables of one release, and errors without rows.
conditions  A condition of rows, and what stands for no value, as expressions of the database.
purchases   Rows of a table to purchases with numbers, as temporary tables.
source      The source in a database: weighted sums, candidates, and a histogram of supports.
"""
