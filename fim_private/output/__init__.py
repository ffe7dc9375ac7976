"""What is shown and written: tables, figures, files.

release_table    A release for people: a table, the guarantee in a sentence, what to try.
rules_table      Its association rules.
vote_table       A vote for people.
plan_table       A plan for people.
top_plan_table   A plan for many itemsets for people.
customer_plan_table  A plan for customers for people.
budget_table     A ledger for people.
audit_table      Audits for people.
inspection_table  What would be read of a file, for whoever holds it.
console          Text and tables as the reader's screen can show them.
layout           A table within the width of a screen, no word broken.
figure           A figure as a file.
plan_figure      What each mechanism needs, against ε.
top_plan_figure  What each mechanism needs, against how many itemsets are asked for.
"""
