# The source of docs/audits.ipynb: scripts/make_notebook.py makes the notebook of it, and runs it.

# %% [markdown]
# # Three published faults, found by an audit
#
# A mechanism can promise more privacy than it gives. Three such faults of two good libraries were reported in
# public. Here each one is made anew as a small mechanism of our own, and `fim_private.auditing.replay` finds
# it. Beside each fault stands a correct version, which passes.
#
# Nothing here runs the code of those libraries, and nothing is said about their versions of today.
# [Audit a mechanism](auditing.md) explains the audit.

# %%
import math

import numpy as np

from fim_private.auditing.replay import Recorder, audit, audit_chances

Shelves = tuple[int, ...]  # of a customer
Person = tuple[float, float]
Scores = tuple[int, int]  # of two candidates

# %% [markdown]
# ## 1. Groups are merged after truncation
#
# [OpenDP issue 2949](https://github.com/opendp/opendp/issues/2949): every user is cut to one row in each of at
# most `bound` groups. So one user changes at most `bound` counts by 1 each, and the counts move by √`bound`
# together (L2 norm). Then the column of the groups is redefined, and all groups become one. Now one user moves
# one count by `bound`, but the noise still follows √`bound`.
#
# Our mechanism counts customers by shelf, with a bound of four shelves each. Normal noise of σ = 1 and
# ρ = bound / (2σ²) = 2 belong together only while the shelves stay apart.

# %%
BOUND, SIGMA = 4, 1.0


def shelf_counts(customers: list[Shelves], noise: Recorder) -> object:
    """Count customers by shelf."""
    counts = np.zeros(8)
    for shelves in customers:
        counts[sorted(set(shelves))[:BOUND]] += 1
    return noise.normal(counts, SIGMA)


def merged_counts(customers: list[Shelves], noise: Recorder) -> object:
    """Count customers by shelf, and merge all shelves: too late, for a customer was cut before."""
    total = 0
    for shelves in customers:
        total += len(sorted(set(shelves))[:BOUND])
    return noise.normal(total, SIGMA)


def merged_first(customers: list[Shelves], noise: Recorder) -> object:
    """Merge all shelves, and count each customer once."""
    total = sum(1 for shelves in customers if shelves)
    return noise.normal(total, SIGMA)


# One customer of four shelves more, or of eight.
few: list[Shelves] = [(0, 1), (2, 3), (5,)]
one_more = [(few, [*few, (0, 1, 2, 3)]), (few, [*few, tuple(range(8))])]
rho = BOUND / (2 * SIGMA**2)

print("shelves apart: ", audit(shelf_counts, one_more, rho=rho))
print("merged late:   ", audit(merged_counts, one_more, rho=rho))
print("merged first:  ", audit(merged_first, one_more, rho=rho))

# %% [markdown]
# The count moves by 4 instead of √4 = 2. The loss grows with its square: four times the promise is used. With
# the 100 groups of the issue it would be a hundred times.
#
# ## 2. Clipped, and then not used
#
# [SmartNoise issue 622](https://github.com/opendp/smartnoise-sdk/issues/622): a covariance clips its data and
# fills its gaps, and then computes from the data that it had before. The noise is for clipped values. One
# person with a large value moves the result as far as they like.
#
# Our mechanism is the covariance of two columns between 0 and 10. The number of people is public, and one of
# them is replaced by another one. Between clipped data it moves by at most 10 · 10 / n.

# %%
LIMIT, EPSILON = 10, 1.0


def clipped_covariance(people: list[Person], noise: Recorder) -> object:
    """Return the covariance of two columns, clipped to 0 … LIMIT."""
    clipped = np.clip(people, 0, LIMIT)
    scale = LIMIT**2 / len(people) / EPSILON
    return noise.laplace(np.cov(clipped.T)[0, 1], scale)


def clipped_in_vain(people: list[Person], noise: Recorder) -> object:
    """Clip, and forget it."""
    clipped = np.clip(people, 0, LIMIT)
    scale = LIMIT**2 / len(clipped) / EPSILON
    return noise.laplace(np.cov(np.transpose(people))[0, 1], scale)


usual: list[Person] = [(0, 5), (0, 5), (0, 5), (0, 5)]
replaced = [([*usual, (10, 0)], [*usual, (10, 10)]), ([*usual, (5, 5)], [*usual, (500, 900)])]

print("clipped:         ", audit(clipped_covariance, replaced, epsilon=EPSILON))
print("clipped in vain: ", audit(clipped_in_vain, replaced, epsilon=EPSILON))

# %% [markdown]
# ## 3. A choice is charged as if another mechanism made it
#
# [OpenDP issue 2911](https://github.com/opendp/opendp/issues/2911): report noisy max chooses by
# permute-and-flip, and is charged ρ = ε²/8 of zero-concentrated privacy. That is what the exponential mechanism
# costs, whose choices have a bounded range. Permute-and-flip has none: it is charged rightly with ε²/2, four
# times as much.
#
# A choice adds no noise to values, so there is nothing to replay. It has outcomes with known chances. Between
# two candidates permute-and-flip takes the worse one with half the chance exp(−gap · rate), as Theorem 9 of
# [Privacy](privacy.md) has it. One person moves each score by 1, so that ε = 2 · rate.

# %%
RATE = 1.0
EPSILON = 2 * RATE


def permute_and_flip(scores: Scores) -> dict[int, float]:
    """Return the chance of each of two candidates."""
    best, worst = int(np.argmax(scores)), 1 - int(np.argmax(scores))
    chance = math.exp(-RATE * (scores[best] - scores[worst])) / 2
    return {best: 1 - chance, worst: chance}


def exponential(scores: Scores) -> dict[int, float]:
    """Return the chance of each candidate."""
    weights = [math.exp(RATE * score) for score in scores]
    return {place: weight / sum(weights) for place, weight in enumerate(weights)}


scored = [((0, 0), (1, -1)), ((3, 0), (2, 1)), ((9, 0), (8, 1))]

print("exponential, ε²/8:      ", audit_chances(exponential, scored, rho=EPSILON**2 / 8))
print("permute-and-flip, ε²/8: ", audit_chances(permute_and_flip, scored, rho=EPSILON**2 / 8))
print("permute-and-flip, ε²/2: ", audit_chances(permute_and_flip, scored, rho=EPSILON**2 / 2))
print("permute-and-flip, ε:    ", audit_chances(permute_and_flip, scored, epsilon=EPSILON))

# %% [markdown]
# Pure ε-privacy holds, and is used up: only what was charged in ρ is wrong.
#
# ## What an audit says
#
# It says that a promise does not hold, and on which inputs. It never proves that a promise holds: other
# inputs may be worse. That takes a proof, as those of [Privacy](privacy.md).
