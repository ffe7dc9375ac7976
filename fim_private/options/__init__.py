"""Every option, declared once with its help and its default; and the values that others need by
name.

declaration  How an option is declared, and how a function or a command takes the declared ones.
purchases    How and where purchases are read, and which of them count.
requests     What is released, and by which mechanism; all options of `mine`, `count`, `vote` and
             `plan`.
privacy      The budget, the ledger that it is charged to, and the audit.
outputs      What commands write, and in which form.
"""

from fim_private.dp.neighbors import Neighbors

# Defaults.
SIZE = 2
TOP = 10
# With a least support: how many itemsets levelwise releases at most, and mechanisms that choose
# them one by one.
TOP_REACHING, TOP_PICKED_REACHING = 1_000, 100
# What OpenDP, Tumult and PipelineDP mean by ε: it hides how many units there are. "replace-one" is
# that of the paper.
NEIGHBORS = Neighbors.ADD_REMOVE.value
EPSILON = 1.0
DELTA = 1e-6
MAX_RANK = 10_000  # the public cap on ranks, and on candidates
VOTES = 2
# Steps of counting: some minutes on one core. Requests that are out of reach are out of it by
# factors of thousands.
MAX_WORK = 10**11
CONFIDENCE = 0.95
AUDIT_TRIALS, AUDIT_SEED = 200, 0

# Values that can be chosen.
RELATIONS = tuple(Neighbors)
UNITS = ("basket", "user")
# The mechanisms of the registry that choose: help and shells name them before it is imported.
CHOOSING = (
    "large-margin",
    "tight-margin",
    "exponential",
    "permute-and-flip",
    "max-of-laplaces",
    "limited-domain",
    "choosing",
    "distance",
)

# Options that the command line names otherwise, because Python has these words itself.
_RENAMED = {"start": "from", "end": "to"}


def option_name(parameter: str) -> str:
    """Return a parameter as the command line spells it, such as --min-support."""
    return f"--{_RENAMED.get(parameter, parameter.replace('_', '-'))}"
