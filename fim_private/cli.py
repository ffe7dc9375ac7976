"""The command line: the only place that prints, exits and offers a seed."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fim_private import __version__
from fim_private.errors import FimPrivateError, OutputError

if TYPE_CHECKING:
    from fim_private.release import Release

USAGE_ERROR = 2
INTERRUPTED = 130
TERMINATED = 143


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
        from fim_private.counting import active_counter

        typer.echo(f"fim-private {__version__} ({active_counter()} counter)")
        raise typer.Exit


@app.callback(epilog="Example: fim-private mine baskets.parquet --size 2")
def fim_private(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and which counter is active, and exit.",
        ),
    ] = False,
) -> None:
    """Find which items are bought together without revealing any one customer's purchases."""


@app.command(
    epilog="Example: fim-private mine sales.csv --basket order_id --item product --size 2 --format json\n\n"
    "To protect customers: fim-private mine sales.csv --basket order_id --item product --user customer_id"
)
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
        float, typer.Option(help="Probability allowed to the guarantee's exception; far below 1 / baskets (or users).")
    ] = 1e-6,
    mechanism: Annotated[
        str, typer.Option(help="large-margin (no item universe needed) or exponential (needs a public one).")
    ] = "large-margin",
    neighbors: Annotated[
        str, typer.Option(help="replace-one or add-remove: what changing one basket (or user) means.")
    ] = "replace-one",
    max_rank: Annotated[int, typer.Option(help="Public cap on large-margin's rank search.")] = 10_000,
    user: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the customer: protects all baskets of each user together, not each basket by itself.",
            show_default=False,
        ),
    ] = None,
    missing_user: Annotated[
        str | None,
        typer.Option(
            metavar="drop|own-unit",
            help="Rows without a user: leave them out, or take each of their baskets as a unit of its own.",
            show_default=False,
        ),
    ] = None,
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
    max_work: Annotated[
        int,
        typer.Option(
            metavar="STEPS", help="Give up on counts that take more steps (half a minute or so for each 10 billion)."
        ),
    ] = 10**11,
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
    """Release the most frequent itemset of a size, differentially private per basket or, with --user, per user."""
    from fim_private.progress import progress_bar
    from fim_private.release import mine as mine_release

    with (
        _destination(output, inputs=[data, catalogue]) as write,
        progress_bar("Counting itemsets") as progress,
    ):  # fails before any privacy is spent
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
            user=user,
            missing_user=missing_user,
            basket=basket,
            item=item,
            items=items,
            max_work=max_work,
            progress=progress,
            seed=seed,
        )
        write(_render(release, output_format, max_rank=max_rank, to_screen=output is None))


Write = Callable[[str], object]


@contextmanager
def _destination(output: Path | None, *, inputs: list[str | None]) -> Iterator[Write]:
    if output is None or str(output) == "-":
        if sys.stdout is None:
            raise OutputError("standard output is closed; name a file with --output")
        yield _to_screen
        return
    if output.resolve() in [Path(name).resolve() for name in inputs if name is not None and name != "-"]:
        raise OutputError(f"cannot write {str(output)!r}: it is an input; choose another --output")
    from fim_private.output import staged

    with staged(output) as write:
        yield write


def _to_screen(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _discard_stdout()
        reason = error.strerror or "the system refused"
        raise OutputError(f"cannot write to standard output: {reason}; name a file with --output") from None


def _discard_stdout() -> None:
    """Keep the interpreter from failing once more on what could not be written, when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _render(release: Release, output_format: Format, *, max_rank: int, to_screen: bool) -> str:
    if output_format is Format.JSON:
        return release.to_json() + "\n"
    if output_format is Format.CSV:
        return release.to_csv()
    from fim_private.table import render_table

    encoding = (sys.stdout.encoding if to_screen else "utf-8").lower()
    return render_table(
        release,
        max_rank=max_rank,
        colour=to_screen and sys.stdout.isatty(),
        ascii_only=not encoding.startswith("utf"),
    )


def main() -> None:
    """Run the command line; every expected failure is one line on standard error and exit code 2."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # so that nothing half-written stays
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
        _discard_stdout()  # nobody reads on; nothing is left to say
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


# What is quoted is a file, a column or a value: it stays as it is.
_QUOTED_OR_PARAMETER = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\b(?P<anywhere>universe_size|max_rank|max_work|missing_user)\b"""
    r"|\A(?P<first>size|epsilon|delta|mechanism|neighbors|seed|item|basket|items|user)\b"
)


def _as_options(message: str) -> str:
    """Name parameters as the command line spells them."""

    def spell(match: re.Match[str]) -> str:
        name = match["anywhere"] or match["first"]
        return f"--{name.replace('_', '-')}" if name else match[0]

    return _QUOTED_OR_PARAMETER.sub(spell, message)


def _fail(message: str) -> None:
    typer.echo(f"Error: {message}", err=True)
    sys.exit(USAGE_ERROR)
