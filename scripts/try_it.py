# The source of docs/try.ipynb: scripts/make_notebook.py makes the notebook of it. It is stored without outputs.

# %% [markdown]
# # Try it in five minutes
#
# You are the corner shop: 76,503 baskets of 20,000 customers, all made up. You want to tell a supplier **what is bought together**, and
# no customer may be recognised. Run the cells from top to bottom. Your numbers differ a little in each run: that is the noise.
#
# The first cell finds the shop beside this notebook, as on Binder. On Colab it installs `fim-private` and takes the shop from its sources.

# %%
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

shop = Path("../datasets/corner_shop.parquet")
if not shop.exists():
    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "install", "fim-private"], check=True)
    source = ["--no-deps", "--no-binary", "fim-private", "fim-private"]
    subprocess.run([*pip, "download", *source], check=True)
    [archive] = Path().glob("fim_private-*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(filter="data")
    [shop] = Path().glob("fim_private-*/datasets/corner_shop.parquet")
folder = Path(tempfile.mkdtemp())  # where this notebook writes

# %% [markdown]
# ## Are hashed ids enough?
#
# Suppose you hash the customers' numbers and pass the table on. Somebody stood behind a customer once, and saw one basket of eight items.
# Whose hashed id is it?

# %%
import hashlib

import pandas as pd

table = pd.read_parquet(shop)
table["customer"] = [hashlib.sha256(str(c).encode()).hexdigest()[:8] for c in table["customer"]]
table["items"] = table["items"].map(set)
seen = next(basket for basket in table["items"] if len(basket) == 8)
fitting = table[table["items"].map(seen.issubset)]
print("Seen:", ", ".join(sorted(seen)))
print("Hashed ids that fit:", *fitting["customer"].unique())

# %% [markdown]
# One id, most likely. All else that this customer ever bought follows:

# %%
table[table["customer"] == fitting["customer"].iloc[0]]

# %% [markdown]
# ## A release instead
#
# `user` names the column of customers. All that a customer ever bought is protected together.

# %%
import fim_private as fim

release = fim.mine(shop, user="customer", top=10, rules=True)
release

# %%
release.rules(min_lift=1.5)

# %% [markdown]
# An interval holds the true number with 95 % probability. The guarantee is what you can promise each customer:

# %%
print(release.guarantee)

# %% [markdown]
# Now show the page to your supplier. Whatever you make of a release costs nothing more.

# %%
from IPython.display import HTML

fim.report(release, folder / "page.html", title="What our customers buy together")
HTML((folder / "page.html").read_text(encoding="utf-8"))

# %% [markdown]
# ## What goes with one item?

# %%
fim.mine(shop, user="customer", with_items=["tea bags"], top=5)

# %% [markdown]
# ## Keep a budget
#
# The cells above were three questions to the same customers, and their costs add up. A ledger counts, and refuses what would exceed
# the budget. (You would create it before the first question.)

# %%
with fim.Ledger.create(folder / "shop.ledger", epsilon=3, delta=1e-5, dataset="shop") as ledger:
    fim.mine(shop, user="customer", top=5, ledger=ledger, dataset="shop")
    print(ledger.left)

# %% [markdown]
# ## Would it work for you?
#
# `plan` reads no data. Say how many customers you have, and how many different items one of them bought in all:

# %%
fim.plan(units=10_000, user_items=30, top=50)

# %% [markdown]
# ## Then
#
# Read [A first release](guide.md) with your own table at hand, and [What not to do](mistakes.md) before you publish.
