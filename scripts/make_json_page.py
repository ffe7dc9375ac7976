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
on the command line. JSON is UTF-8, with escapes for characters that would act on a terminal (DEL,
C1 controls, marks that turn the direction of text). If standard output has another encoding, JSON is ASCII.

`fim.load` and `fim-private show` load such a file again. They also load a Parquet file, which has this JSON in the
metadata of its schema, under `fim_private`. A Parquet file has a row for each itemset: `support` and `itemsets`, with `--supports`
also `lower` and `upper`. It has `share` if `units` is known, and `doubtful` if that can be known. It has `exact_support`, `exact_lower` and
`exact_upper` if supports are estimated with each other's help.

An ε above 10 gives a warning. So does a δ above 1/1000. If the number n of units is public, or comes out with noise, so
does a δ of 1/n or more. In Python the warning is a `PrivacyWarning`, on standard error it is one line.
"""  # noqa: E501

TAIL = """\
`support` and each metric of a rule have an `_interval` beside them, in which null stands for infinity. On the command line
a release with `--rules` or `--recommend` has `rules`. It also has `rules_note`, which says how many of them are
clearly above chance, and how many more rules are left out.

## JSON of a vote

`fim-private vote --format json` has `schema`, `private`, the budget, `neighbors`, `privacy_unit`, `guarantee`, `units` and `where`, as a
release has, and the keys that say what counts. It has no `date`. `mechanism` is "vote". `question` is the name of the question, with
`min_share` or `size`. `blocks` and `votes` are the numbers of these. `answer` has the `items` of a pair or an itemset, or the `antecedents`
and `consequents` of a rule. It is null if nothing came out. There are no itemsets, so `show`, `report` and `fim.load` refuse the file.

## JSON of a ledger, schema 1

`fim-private budget show --format json` has these keys:

- `dataset`, `privacy_unit`, `neighbors`; null if the first release is still to decide. `unit_columns` is the list of columns
  that name the unit. `protected` says in words what it protects. `verified` is true with `--verify`.
- `composition` ("any", "basic", "zcdp" or "gaussian"). `limit` has `epsilon` and `delta`, the limits of all releases
  together, and the limits of the other sums: `rho` and `zcdp_delta`, with `basic_delta` and `gaussian_rho` where these apply.
- `spent`, with `epsilon`, `delta`, `rho`, `zcdp_delta` and `other_noise`, the number of releases whose noise is not all
  normal. `left`, as in a release, under each composition that may allow a release; zeros under one that has ended.
- `together`, the `epsilon` that all releases spend on one unit, at the `delta` of the ledger. `of_user`, with `per`: what
  is spent on a user who buys in all periods; otherwise null.
- `periods`, a list of those that were charged: `period`, `time` (the column), `spent`, `left`, and `more_like_last`, the
  number of releases like the last entry that still fit. `more_like_last` beside `periods` is the least of these, and of
  what fits where the last entry was; null without entries.
- `per`, such as `month`, if the ledger protects what a user buys in one month; otherwise null. `whole_weeks` is true where each
  week belongs to the month of its Thursday. `renewed`: `file`, `id`
  and `time` of the ledger before this one, and its exact sums if it promised the same; otherwise null. If there were several
  of the same promise, the sums are of all of them, and `ledgers` has their number as text.
- `entries`, in order: `number`, `time` (ISO 8601, UTC), `command`, `parameters`, the four costs, and `exact`, the same costs
  as texts "p/q". `span`, where times were read: `time`, `baskets` (columns), `per` and `period`, each null for none. `normal` is true
  where the release is Gaussian.

Limits and what is left are rounded down, costs up.

In the file, table `terms` has one `record`, and table `entries` `number`, `record` and `hash`. A record is JSON with
sorted keys, without white space, in ASCII, and numbers of the budget as texts "p/q". A hash is SHA-256 of a record, in
hexadecimal. Each record has the hash of the one before it as `previous`, the first entry that of the terms. An entry
has `unit_columns` where columns named the unit, `span` where times were read, and `normal` where the release is Gaussian.
`PRAGMA user_version` is the form of the file: 4, or less in a ledger to which an older version made the last charge.

## CSV

`--format csv` is UTF-8 whatever the locale, with one row for each itemset: `item_1` …, `support` and, with `--supports`,
`lower` and `upper`. `share`, `doubtful` and the columns of exact supports are there as in Parquet. Text that a spreadsheet would run as a formula has an
apostrophe in front. Such text begins with `=`, `+`, `-`, `@`, a tab or a line break, and is not a number. Full-width signs count
as these. `release.to_csv(spreadsheet_safe=False)` and JSON have the text as it was. Only on a terminal are characters that
would act on it shown as escapes.
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
