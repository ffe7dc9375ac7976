"""Write docs/json.md: what a release's JSON, Parquet and CSV have. Run by `make reference`.

The keys of a release are those that `fim_private/release/schema.toml` has. What stands inside of
them, and what is no release, stands here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fim_private.release.forms import INSIDE, KEYS, SEGMENTED_KEYS, Keys

PAGE = Path(__file__).resolve().parents[1] / "docs" / "json.md"

HEAD = """\
# Files that a release is written to

Made from the schema in `fim_private/release/schema.toml` by `make reference`.

## JSON, schema 1

    {"schema": 1, "private": true, "date": "2026-11-24", "mechanism": "large-margin", "size": 2, "epsilon": 1.0, "delta": 1e-06,
     "neighbors": "add-remove", "privacy_unit": "basket", "guarantee": "Guarantee (large-margin, …", "abstained": false,
     "itemsets": [{"items": [39, 48], "support": null}]}

A key is missing if it was not asked for, or is not known. Names are as in Python: `min_support` is `--min-support`
on the
command line. JSON is UTF-8, with escapes for what would act on a terminal (DEL,
C1 controls, marks that turn the direction of text). On a standard output of another encoding it is ASCII.

A file of this JSON is loaded again by `fim.load` and `fim-private show`. So is a Parquet file, which has it in the
metadata of its schema, under `fim_private`. It has a row for each itemset: `support` and `itemsets`, with `--supports`
also `lower` and `upper`. `share` is there where `units` is known, `doubtful` where it can be, and `exact_support`, `exact_lower` and
`exact_upper` where supports draw on each other.

An ε above 10 gives a warning. So does a δ above 1/1000, or of at least 1/n, where the number n of units is public or
comes out with noise. In Python it is a `PrivacyWarning`, on standard error it is one line.
"""  # noqa: E501

TAIL = """\
`support` and each metric of a rule has an `_interval` beside it, in which null stands for infinity. On the command line
a release with `--rules` or `--recommend` has `rules`. It also has `rules_note`, which says for how many of them more
often than chance is sure, and how many more rules are left out.

## JSON of a vote

`fim-private vote --format json` has `schema`, `private`, the budget, `neighbors`, `privacy_unit`, `guarantee`, `units` and `where` of a
release, and the keys that say what counts. It has no `date`. `mechanism` is "vote". `question` is its name, with `min_share` or `size`; `blocks` and `votes` are these numbers. `answer` has the
`items` of a pair or an itemset, or the `antecedents` and `consequents` of a rule, and is null where it abstained.
It has no itemsets, so `show`, `report` and `fim.load` do not take it.

## JSON of a ledger, schema 1

`fim-private budget show --format json` has these keys:

- `dataset`, `privacy_unit`, `neighbors` (null where a release is still to decide). `unit_columns` is a list: the
  columns
  that name the unit. `protected` says in words what it protects. `verified` is true with `--verify`.
- `composition` ("any", "basic", "zcdp" or "gaussian"). `limit` has `epsilon` and `delta`, which all releases together
  keep to, and what else may add up: `rho` and `zcdp_delta`, with `basic_delta` and `gaussian_rho` where these apply.
- `spent`, with `epsilon`, `delta`, `rho`, `zcdp_delta` and `other_noise`, the number of releases whose noise is not all
  normal. `left`, under each composition that may allow a release, as in a release; zeros under one that has ended.
- `together`, the `epsilon` that all releases spend of one unit at the `delta` of the ledger. `of_user`, with `per`: what
  a user spends who buys in all periods; else null.
- `periods`, a list of those that were charged: `period`, `time` (the column), `spent`, `left`, and `more_like_last`. It
  is how many more releases like the last entry fit. `more_like_last` beside it is the least of these, null without
  entries.
- `per`, where it protects what a user buys in one `month`, for example; else null. `renewed`: `file`, `id`
  and `time` of the ledger before this one, and exact sums of it if it promised the same; else null. Where there were
  more of the same promise, the sums are of all of them, and `ledgers` has their number as text.
- `entries`, in order: `number`, `time` (ISO 8601, UTC), `command`, `parameters`, the four costs, and `exact`, the same
  as texts "p/q". `span`, where times were read: `time`, `baskets` (columns), `per` and `period`, each null for none. `normal` is true
  where the release is Gaussian.

Limits and what is left are rounded down, costs up.

In the file, table `terms` has one `record`, and table `entries` `number`, `record` and `hash`. A record is JSON with
sorted keys, without white space, in ASCII, and numbers of the budget as texts "p/q". A hash is SHA-256 of a record, in
hexadecimal. Each record has the hash of the one before it as `previous`, the first entry that of the terms. An entry
has `unit_columns` where columns named the unit, `span` where times were read, and `normal` where the release is Gaussian.
`PRAGMA user_version` is the form of the file: 4, or less in a ledger to which an older version made the last charge.

## CSV

`--format csv` is UTF-8 whatever the locale, one row for each itemset: `item_1` …, `support` and, with `--supports`,
`lower` and `upper`. `share`, `doubtful` and the columns of exact supports are there as in Parquet. Text that a spreadsheet would run as a formula has an
apostrophe in front. It begins with `=`, `+`, `-`, `@`, a tab or a line break, and is no number. Full-width signs count
as these. `release.to_csv(spreadsheet_safe=False)` and JSON have it as it was. On a terminal alone, what would act on it
is shown as an escape.
"""  # noqa: E501


def page() -> str:
    """Return the page."""
    tables = {"": KEYS, "Of segments (`by`), around their releases": SEGMENTED_KEYS} | INSIDE
    sections = (line for title, keys in tables.items() for line in section(title, keys))
    return "\n".join([HEAD, *sections, TAIL])


def section(title: str, keys: Keys) -> Iterator[str]:
    """Yield a table of keys, under a title if there is one."""
    if title:
        yield f"### {title}\n"
    yield "| key | type | there | what it says |\n|---|---|---|---|"
    for name, texts in keys.items():
        yield f"| `{name}` | {' | '.join(texts)} |"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
