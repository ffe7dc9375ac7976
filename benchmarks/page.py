"""docs/benchmarks.md from the JSON of the studies: nothing on the page is written by hand.

python -m benchmarks.page --results build/benchmarks --document docs/benchmarks.md
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import validation
from benchmarks.frame.command_line import OneLineParser
from benchmarks.frame.output_files import DEFAULT_OUTPUT, ROOT, write_text
from benchmarks.frame.study import Results, Study, draw_figure, markdown, read
from benchmarks.frame.tables import table_lines
from benchmarks.learning import interior_point, learners
from benchmarks.paper import corollary1, pac_learning
from benchmarks.paper import worked_examples as examples
from benchmarks.paper.claim_verdicts import claims
from benchmarks.spark import scale, warehouse
from benchmarks.utility import compare as utility
from benchmarks.utility import (
    customers,
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
    privbasis_grid.STUDY,
    validation.STUDY,
    scale.STUDY,
    warehouse.STUDY,
    interior_point.STUDY,
    learners.STUDY,
)
INTRODUCTION = """\
This page is written by `make benchmarks` (`benchmarks/page.py`, from the JSON that each study leaves in
`build/benchmarks`). Every part names the command, the version, the machine and the date it was made with. A page of
its own, [counting.md](counting.md), says how fast itemsets are counted, and how fast the peers are.

"The paper" is Chaudhuri, Hsu and Song, "The large margin mechanism for differentially private maximization" (NIPS
2014). Supports are in units (baskets); replace-one and add-remove are the notions of neighbours in
[privacy.md](privacy.md).
"""  # noqa: E501


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = OneLineParser("benchmarks.page", str(__doc__))
    parser.add_argument(
        "--results", type=Path, default=DEFAULT_OUTPUT, help=("folder of the studies' JSON")
    )
    parser.add_argument(
        "--document", type=Path, default=ROOT / "docs" / "benchmarks.md", help="page to write"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=("take results of the small setting, to see that all works"),
    )
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        help=("studies with commas between: the rest of the page stays"),
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


def lines(results: dict[str, Results]) -> Iterator[str]:
    """Yield the page."""
    yield "# Benchmarks: what each mechanism finds\n"
    yield INTRODUCTION
    yield "## The paper's claims\n"
    yield from table_lines(claims(results))
    for study in STUDIES:
        yield from markdown(study, results[study.name], "figures/", level=2)


def replaced(page: str, results: dict[str, Results]) -> str:
    """Return the page with the parts of these studies made anew; one that it lacks comes last."""
    parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    for study in chosen(list(results)):
        own = "\n".join(markdown(study, results[study.name], "figures/", level=2)).rstrip() + "\n\n"
        places = [
            place for place, part in enumerate(parts) if part.startswith(f"## {study.question}\n")
        ]
        place = places[0] if places else len(parts)
        parts[place:] = [own, *parts[place + 1 :]]
    return "".join(part.rstrip() + "\n\n" for part in parts)


def main() -> None:
    """Draw the figures and write the page."""
    options = parse()
    taken = chosen(options.only)
    results = {
        study.name: read(study.name, options.results / f"{study.name}.json") for study in taken
    }
    if small := [name for name, found in results.items() if found["quick"] and not options.quick]:
        print(
            f"page.py: {', '.join(small)}: results of --quick, which are no results",
            file=sys.stderr,
        )
        raise SystemExit(2)
    if not options.no_figures:
        for study in taken:
            for name, figure in study.figures.items():
                draw_figure(
                    study, name, figure, results[study.name], options.document.parent / "figures"
                )
    if options.only is None:
        text = "\n".join(lines(results))
    else:
        text = replaced(options.document.read_text(encoding="utf-8"), results)
    write_text(text.rstrip() + "\n", options.document)
    print(f"Written: {options.document.name}")


if __name__ == "__main__":
    main()
