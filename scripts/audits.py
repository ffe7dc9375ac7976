# The source of docs/audits.ipynb: scripts/make_notebook.py makes the notebook from it, and runs it.

# %% [markdown]
# # Three published faults, found by an audit
#
# A mechanism can promise more privacy than it gives. Three such faults in two good libraries have been reported
# publicly. This notebook rebuilds each of them as a small mechanism of our own, and `fim_private.auditing.replay`
# finds it. Beside each fault stands a correct version, which passes.
#
# The notebook does not run the code of those libraries, and says nothing about their current versions.
# [Audit a mechanism](auditing.md) explains the audit.

# %%
import math

import numpy as np

from fim_private.auditing.replay import Recorder, audit, audit_chances

Shelves = tuple[int, ...]  # those from which one customer bought
Person = tuple[float, float]
Scores = tuple[int, int]  # one for each of two candidates

# %% [markdown]
# ## 1. Groups are merged after truncation
#
# [OpenDP issue 2949](https://github.com/opendp/opendp/issues/2949): the query keeps one row of a user in each of at
# most `bound` groups. So one user changes at most `bound` counts, each by 1, and the counts together move by at
# most √`bound` (L2 norm). Then the query redefines the column of groups, and all groups become one. Now one user
# moves one count by `bound`, but the noise is still scaled to √`bound`.
#
# Our mechanism counts customers by shelf, and counts each customer at no more than four shelves. Normal noise with
# σ = 1 gives ρ = bound / (2σ²) = 2, but only while the shelves stay apart.

# %%
BOUND, SIGMA = 4, 1.0


def shelf_counts(customers: list[Shelves], noise: Recorder) -> object:
    """Count customers by shelf."""
    counts = np.zeros(8)
    for shelves in customers:
        counts[sorted(set(shelves))[:BOUND]] += 1
    return noise.normal(counts, SIGMA)


def merged_counts(customers: list[Shelves], noise: Recorder) -> object:
    """Merge all shelves too late: after each customer has been cut to four of them."""
    total = 0
    for shelves in customers:
        total += len(sorted(set(shelves))[:BOUND])
    return noise.normal(total, SIGMA)


def merged_first(customers: list[Shelves], noise: Recorder) -> object:
    """Merge all shelves, and count each customer once."""
    total = sum(1 for shelves in customers if shelves)
    return noise.normal(total, SIGMA)


# The second input has one more customer, of four shelves or of eight.
few: list[Shelves] = [(0, 1), (2, 3), (5,)]
one_more = [(few, [*few, (0, 1, 2, 3)]), (few, [*few, tuple(range(8))])]
rho = BOUND / (2 * SIGMA**2)

print("shelves apart: ", audit(shelf_counts, one_more, rho=rho))
print("merged late:   ", audit(merged_counts, one_more, rho=rho))
print("merged first:  ", audit(merged_first, one_more, rho=rho))

# %% [markdown]
# One customer moves the merged count by 4 instead of √4 = 2. The loss grows with the square of the move, so the
# mechanism uses four times its promise. With the 100 groups of the issue it would use a hundred times.
#
# ## 2. Clipped data is not used
#
# [SmartNoise issue 622](https://github.com/opendp/smartnoise-sdk/issues/622): the covariance clips the data and
# fills its gaps, and then computes from the original data. The noise is scaled to clipped values. So one person
# with a large value can move the result as far as they like.
#
# Our mechanism computes the covariance of two columns that should be between 0 and 10. The number n of people is
# public, and two inputs differ in one person. If the data is clipped, that person moves the covariance by at most
# 10 · 10 / n.

# %%
LIMIT, EPSILON = 10, 1.0


def clipped_covariance(people: list[Person], noise: Recorder) -> object:
    """Return the covariance of two columns, both clipped to 0 … LIMIT."""
    clipped = np.clip(people, 0, LIMIT)
    scale = LIMIT**2 / len(people) / EPSILON
    return noise.laplace(np.cov(clipped.T)[0, 1], scale)


def clipped_in_vain(people: list[Person], noise: Recorder) -> object:
    """Clip the data, and use the original all the same."""
    clipped = np.clip(people, 0, LIMIT)
    scale = LIMIT**2 / len(clipped) / EPSILON
    return noise.laplace(np.cov(np.transpose(people))[0, 1], scale)


usual: list[Person] = [(0, 5), (0, 5), (0, 5), (0, 5)]
replaced = [([*usual, (10, 0)], [*usual, (10, 10)]), ([*usual, (5, 5)], [*usual, (500, 900)])]

print("clipped:         ", audit(clipped_covariance, replaced, epsilon=EPSILON))
print("clipped in vain: ", audit(clipped_in_vain, replaced, epsilon=EPSILON))

# %% [markdown]
# ## 3. A choice is charged as if another mechanism had made it
#
# [OpenDP issue 2911](https://github.com/opendp/opendp/issues/2911): report noisy max chooses by
# permute-and-flip, but is charged ρ = ε²/8 of zero-concentrated privacy. That is the price of the exponential
# mechanism, which is ε-bounded range. Permute-and-flip is not, so the right charge is ε²/2, four times as much.
#
# A choice adds no noise to values, so there is nothing to replay. But its outcomes have known chances. Of two
# candidates, permute-and-flip takes the worse one with probability exp(−rate · gap) / 2, by Theorem 9 of
# [Privacy](privacy.md). One person moves each score by at most 1, so ε = 2 · rate.

# %%
RATE = 1.0
EPSILON = 2 * RATE


def permute_and_flip(scores: Scores) -> dict[int, float]:
    """Return the chance of each of two candidates."""
    best, worst = int(np.argmax(scores)), 1 - int(np.argmax(scores))
    chance = math.exp(-RATE * (scores[best] - scores[worst])) / 2
    return {best: 1 - chance, worst: chance}


def exponential(scores: Scores) -> dict[int, float]:
    """Return the chance of each of two candidates, in proportion to exp(RATE · score)."""
    weights = [math.exp(RATE * score) for score in scores]
    return {place: weight / sum(weights) for place, weight in enumerate(weights)}


scored = [((0, 0), (1, -1)), ((3, 0), (2, 1)), ((9, 0), (8, 1))]

print("exponential, ε²/8:      ", audit_chances(exponential, scored, rho=EPSILON**2 / 8))
print("permute-and-flip, ε²/8: ", audit_chances(permute_and_flip, scored, rho=EPSILON**2 / 8))
print("permute-and-flip, ε²/2: ", audit_chances(permute_and_flip, scored, rho=EPSILON**2 / 2))
print("permute-and-flip, ε:    ", audit_chances(permute_and_flip, scored, epsilon=EPSILON))

# %% [markdown]
# Permute-and-flip is ε-differentially private, and uses all of ε. Only its charge in ρ was wrong.
#
# ## What an audit tells you
#
# It tells you that a promise does not hold, and on which inputs. It never proves that a promise holds, because
# other inputs may be worse. That takes a proof, such as those in [Privacy](privacy.md).
