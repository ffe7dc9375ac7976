"""The command line: the only place that prints, exits and offers a seed."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fim_private import __version__
from fim_private.errors import FimPrivateError

if TYPE_CHECKING:
    from fim_private.release import Release

USAGE_ERROR = 2
INTERRUPTED = 130


class Format(StrEnum):
    """How a release is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fim-private {__version__}")
        raise typer.Exit


@app.callback(epilog="Example: fim-private mine baskets.parquet --size 2")
def fim_private(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Find which items are bought together without revealing any one customer's purchases."""


@app.command(epilog="Example: fim-private mine sales.csv --basket order_id --item product --size 2 --format json")
def mine(
    data: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Purchases: Parquet, Arrow/Feather, CSV or .dat (text also as .gz); - reads .dat from standard input.",
            show_default=False,
        ),
    ],
    size: Annotated[int, typer.Option(help="Items per itemset.")] = 2,
    epsilon: Annotated[float, typer.Option(help="Privacy loss; smaller is more private.")] = 1.0,
    delta: Annotated[
        float, typer.Option(help="Probability allowed to the guarantee's exception; far below 1 / baskets.")
    ] = 1e-6,
    mechanism: Annotated[
        str, typer.Option(help="large-margin (no item universe needed) or exponential (needs a public one).")
    ] = "large-margin",
    neighbors: Annotated[
        str, typer.Option(help="replace-one or add-remove: what changing one basket means.")
    ] = "replace-one",
    max_rank: Annotated[int, typer.Option(help="Public cap on large-margin's rank search.")] = 10_000,
    basket: Annotated[
        str | None, typer.Option(help="Column of the basket id (one row per item).", show_default=False)
    ] = None,
    item: Annotated[str | None, typer.Option(help="Column of the item (one row per item).", show_default=False)] = None,
    items: Annotated[
        str | None, typer.Option(help="List column of the items; guessed when there is exactly one.")
    ] = None,
    catalogue: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Public list of all items: one a line, or a column.", show_default=False),
    ] = None,
    universe_size: Annotated[
        int | None, typer.Option(help="Public number of items, for exponential without a catalogue.")
    ] = None,
    output_format: Annotated[Format, typer.Option("--format", help="How to write the release.")] = Format.TABLE,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write here instead of the screen.", show_default=False),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Tests and benchmarks only: the output is then predictable, not private."),
    ] = None,
) -> None:
    """Release the most frequent itemset of a size, differentially private per basket."""
    from fim_private.output import staged
    from fim_private.release import mine as mine_release

    output = None if output == Path("-") else output
    with staged(output) as write:  # an output that cannot be written fails before any privacy is spent
        release = mine_release(
            data,
            size=size,
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            neighbors=neighbors,
            max_rank=max_rank,
            catalogue=catalogue,
            universe_size=universe_size,
            basket=basket,
            item=item,
            items=items,
            seed=seed,
        )
        write(_render(release, output_format, max_rank=max_rank, to_screen=output is None))


def _render(release: Release, output_format: Format, *, max_rank: int, to_screen: bool) -> str:
    if output_format is Format.JSON:
        return release.to_json() + "\n"
    if output_format is Format.CSV:
        return release.to_csv()
    from fim_private.table import render_table

    return render_table(release, max_rank=max_rank, colour=to_screen and sys.stdout.isatty())


def main() -> None:
    """Run the command line; every expected failure is one line on standard error and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = typer.main.get_command(app).main(standalone_mode=False)
    except FimPrivateError as error:
        _fail(_as_options(str(error)))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # nobody reads on; nothing is left to say
        sys.exit(1)
    except Exception as error:
        _exit_for(error)
    else:
        sys.exit(code if isinstance(code, int) else 0)


def _exit_for(error: Any) -> None:
    """Handle the command-line parser's own exceptions (their classes differ between typer's versions)."""
    name = type(error).__name__
    if name == "Abort":
        sys.exit(INTERRUPTED)
    if name == "NoArgsIsHelpError":
        error.show()
        sys.exit(USAGE_ERROR)
    if hasattr(error, "format_message"):
        _fail(" ".join(error.format_message().split()))
    raise error


def _as_options(message: str) -> str:
    """Name parameters as the command line spells them."""
    return message.replace("universe_size", "--universe-size").replace("max_rank", "--max-rank")


def _fail(message: str) -> None:
    typer.echo(f"Error: {message}", err=True)
    sys.exit(USAGE_ERROR)
