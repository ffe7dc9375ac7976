"""What is shown and written: tables, figures, files.

release_table  A release for people: a table, the guarantee in a sentence, what to try.
plan_table     A plan for people.
audit_table    Audits for people.
console        Text and tables as the reader's screen can show them.
plan_figure    What each mechanism needs, against ε.
files          A file is written whole or not at all.
"""
