"""Tables on a terminal, and figures as files.

console  Lines and tables as text, as far as the reader's screen can show them.
tables   The readable tables of releases, rules, plans, ledgers, inspections, votes and audits.
figures  Figures of plans, drawn by matplotlib.
"""
