"""Defaults that Python and the command line share."""

from __future__ import annotations

SIZE = 2
TOP = 1
# The most itemsets that reach a least support, where levelwise counts, and where they are picked one by one.
TOP_REACHING = 1_000
TOP_PICKED_REACHING = 100
# Takes what public numbers say is best; see request/request.py.
MECHANISM = "auto"
# What OpenDP, Tumult and PipelineDP mean by ε: it hides how many units there are. "replace-one" is that of the paper.
NEIGHBORS = "add-remove"
EPSILON = 1.0
DELTA = 1e-6
# The public cap on ranks, and on candidates.
MAX_RANK = 10_000
# How many blocks vote, and how many answers each may give of a question with a name.
BLOCKS = 100
VOTES = 2
# Steps of counting: some minutes on one core. Requests that are out of reach are out of it by factors of thousands.
MAX_WORK = 10**11
# The probability of success that is planned for.
CONFIDENCE = 0.95
# What is audited: one mechanism, for "auto" is none.
AUDIT_MECHANISM = "large-margin"
# How many itemsets are planned for, where several are.
PLANNED_TOPS = (10, 50, 100)
# The random pairs of neighbours that an audit tries besides the structured ones, and their seed.
AUDIT_TRIALS = 200
AUDIT_SEED = 0
