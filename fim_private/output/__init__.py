"""What the command line shows: text for a screen, and figures of plans.

screen       What a screen can show: tables that fit it, and words for letters that it lacks.
plans        What a release would do, step by step.
releases     Releases with their rules, what changed between two of them, and votes.
mechanisms   What mechanisms need (plans), and how much of their guarantee they use (audits).
figures      Plans as pictures.
ledgers      Ledgers: the entries, their sums, and how much remains.
inspections  How a source would be read, and the command that mines it.
"""
