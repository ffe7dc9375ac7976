# The source of docs/try.ipynb: scripts/make_notebook.py makes the notebook from it, and stores it without outputs.

# %% [markdown]
# # Try it in five minutes
#
# You run a corner shop. Your table has 76,503 baskets of 20,000 customers, all made up. You want to tell a supplier **what your customers
# buy together**, and nobody may recognise any of the customers. Run the cells from top to bottom. The releases differ a little from run
# to run: that is the noise.
#
# The first cell looks for the shop's table beside this notebook. In a clone and on Binder the table is there. Anywhere else, such as on
# Colab, the cell installs `fim-private` with pip and takes the table from its source distribution. That works once a version is published.

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
folder = Path(tempfile.mkdtemp())  # this notebook writes here

# %% [markdown]
# ## Are hashed ids enough?
#
# Suppose you replace each customer's number by a hash, and pass the table on. Somebody once stood behind a customer at the till, and saw
# the eight items in the basket. Which hashed id is that customer's?

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
# Most likely only one id fits. So everything else that this customer ever bought is known, too:

# %%
table[table["customer"] == fitting["customer"].iloc[0]]

# %% [markdown]
# ## A release instead
#
# `user` names the column of customers. The release then protects everything that a customer ever bought.

# %%
import fim_private as fim

release = fim.mine(shop, user="customer", top=10, rules=True)
release

# %%
release.rules(min_lift=1.5)

# %% [markdown]
# Each interval contains the true number with 95 % probability. The guarantee is what you can promise each customer:

# %%
print(release.guarantee)

# %% [markdown]
# This page is for your supplier. Whatever you make from a release costs nothing more:

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
# The cells above made two releases about the same customers, and their costs add up. A ledger adds them up for you, and refuses any
# release that would exceed the budget. With your own data, create the ledger before the first release.

# %%
with fim.Ledger.create(folder / "shop.ledger", epsilon=3, delta=1e-5, dataset="shop") as ledger:
    fim.mine(shop, user="customer", top=5, ledger=ledger, dataset="shop")
    print(ledger.left)

# %% [markdown]
# ## Would it work for you?
#
# `plan` answers without reading any data. Tell it how many customers you have, and how many different items a typical customer has bought
# in all:

# %%
fim.plan(units=10_000, user_items=30, top=50)

# %% [markdown]
# ## Next
#
# Work through [A first release](guide.md) with your own table, and read [What not to do](mistakes.md) before you publish.
