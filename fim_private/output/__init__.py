"""What the command line shows: text for a screen, and figures of plans.

screen       What a screen can show: tables that fit it, and words for letters that it lacks.
releases     Releases with their rules, plans of them, what changed between two, and votes.
mechanisms   What mechanisms need (plans), and how much of their guarantee they use (audits).
figures      Plans as pictures.
ledgers      Ledgers: the entries, their sums, and how much remains.
inspections  How a source would be read, and the command that mines it.
"""
