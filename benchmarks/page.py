"""docs/data from the JSON of the studies; docs/benchmarks.md and the figures from docs/data.

    python -m benchmarks.page --results build/benchmarks [--only customers,warehouse]
    python -m benchmarks.page --from-tables

The text of the page is benchmarks/findings/benchmarks.md, and its figures are those of the tables
(benchmarks/frame/published.py). So look at its words whenever a study was run again;
docs/counting.md is filled in with it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import validation
from benchmarks.frame.command_line import OneLineParser
from benchmarks.frame.figures import draw_figures
from benchmarks.frame.output_files import DEFAULT_OUTPUT, ROOT
from benchmarks.frame.published import circumstances, fill_page, publish
from benchmarks.frame.study import Section, Study, left_out, read
from benchmarks.learning import interior_point, learners
from benchmarks.paper import corollary1, pac_learning
from benchmarks.paper import worked_examples as examples
from benchmarks.paper.claim_verdicts import claims
from benchmarks.spark import scale, warehouse
from benchmarks.utility import compare as utility
from benchmarks.utility import (
    customers,
    forecasts,
    growth,
    intervals,
    marks,
    partners,
    periods,
    privbasis_grid,
    small_shops,
)

STUDIES: tuple[Study, ...] = (
    examples.STUDY,
    corollary1.STUDY,
    pac_learning.STUDY,
    utility.STUDY,
    customers.STUDY,
    periods.STUDY,
    growth.STUDY,
    intervals.STUDY,
    marks.STUDY,
    partners.STUDY,
    small_shops.STUDY,
    forecasts.STUDY,
    privbasis_grid.STUDY,
    validation.STUDY,
    scale.STUDY,
    warehouse.STUDY,
    interior_point.STUDY,
    learners.STUDY,
)
PAGES = ("benchmarks.md", "counting.md")


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = OneLineParser("benchmarks.page", str(__doc__))
    parser.add_argument(
        "--results", type=Path, default=DEFAULT_OUTPUT, help="folder of the studies' JSON"
    )
    parser.add_argument(
        "--docs", type=Path, default=ROOT / "docs", help="folder of the page, of figures and data"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="take results of the small setting, to see that all works",
    )
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        help="studies with commas between: the tables of the others stay",
    )
    parser.add_argument(
        "--from-tables",
        dest="only",
        action="store_const",
        const=[],
        help="take no results: write pages and figures anew from the tables that there are",
    )
    parser.add_argument("--no-figures", action="store_true", help="draw nothing")
    options = parser.parse_args()
    for study in chosen(options.only):
        if not (options.results / f"{study.name}.json").is_file():
            parser.error(
                f"there is no {study.name}.json in {options.results}: run python -m "
                f"{study.module} first"
            )
    return options


def chosen(only: list[str] | None) -> list[Study]:
    """Return the studies of these names, None for all."""
    return [study for study in STUDIES if only is None or study.name in only]


def main() -> None:
    """Write the tables, the figures and the page."""
    options = parse()
    taken = chosen(options.only)
    results = {
        study.name: read(study.name, options.results / f"{study.name}.json") for study in taken
    }
    if small := [name for name, run in results.items() if run["quick"] and not options.quick]:
        print(
            f"page.py: {', '.join(small)}: results of --quick, which are no results",
            file=sys.stderr,
        )
        raise SystemExit(2)
    data = options.docs / "data"
    if options.only is None:
        verdicts = Section("Claims", "What was checked of each claim.", (claims(results),))
        publish(data, {"study": "paper", "question": "The paper's claims"}, [verdicts])
    for study in taken:
        run = results[study.name]
        publish(data, circumstances(study.name, run, left_out(run)), study.sections(run))
    if not options.no_figures:
        draw_figures(options.docs)
    if not options.quick:  # the small setting has no findings
        for name in PAGES:
            fill_page(name, options.docs)


if __name__ == "__main__":
    main()
