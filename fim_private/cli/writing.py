"""Where output goes, the screen or a file, and in which form."""

from __future__ import annotations

import codecs
import glob
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fim_private.cli.progress import note
from fim_private.errors import OutputError, ParameterError, parameter
from fim_private.options import ReleaseFormat, TextFormat

if TYPE_CHECKING:
    from fim_private.ledger.ledger import Ledger
    from fim_private.output import Screen
    from fim_private.release.release import Release, SegmentedRelease


@dataclass(frozen=True)
class Write:
    """Writes to where a command's output goes.

    send: takes text, or bytes that are to stay as they are. utf8: whether the text arrives in UTF-8. terminal: whether
    it goes to a terminal, which acts on some letters.
    """

    send: Callable[[str | bytes], object]
    utf8: bool = True
    terminal: bool = False

    def __call__(self, text: str) -> None:
        """Write text for people, as far as a screen can show it."""
        self.send(text)

    def json(self, text: str) -> None:
        """Write a line of JSON: in UTF-8, or in ASCII with escapes where the screen has another encoding."""
        from fim_private.display import escaped_json

        text = escaped_json(text)
        escaped = text if self.utf8 else re.sub(r"[^\x00-\x7f]", lambda letter: json.dumps(letter[0])[1:-1], text)
        self.send(f"{escaped}\n".encode(errors="backslashreplace"))

    def csv(self, text: str) -> None:
        """Write CSV, in UTF-8 whatever the screen. CSV has no escapes; a terminal alone gets some."""
        if self.terminal:
            from fim_private.display import printable

            text = "\n".join(map(printable, text.split("\n")))
        self.send(text.encode(errors="backslashreplace"))


# Of the command that runs: the files it writes, in the order of its options, and whether each is written; and what is
# left in its ledger.
_written: dict[str, bool] = {}
_ledgers: dict[str, Ledger] = {}
# Of what is no text to read, and no JSON: nobody who names a file so wants a table in it.
_OTHER_FORMS = {".csv", ".html", ".md", ".parquet", ".pdf", ".png", ".svg", ".tsv", ".xlsx"}


def output_path(text: str) -> Path:
    """Return the path of a file to write, as it was typed.

    Raises OutputError for nothing, and for what ends in a slash: it means a folder, which a Path would forget.
    """
    if not text:
        raise OutputError("cannot write to an empty path; name a file")
    if text.endswith("/"):
        raise OutputError(f"cannot write {text!r}: it names a folder; name a file")
    return Path(text)


@contextmanager
def destination(
    output: Path | None, *, inputs: Sequence[str | None] = (), given: str = parameter("output")
) -> Iterator[Write]:
    """Open an output and yield what writes to it; None or - is the screen.

    inputs: what the command reads, as it was typed, which the output must not overwrite.
    given: the parameter that gave the path, marked for messages.
    Raises OutputError for an input, a closed screen and what cannot be written: at once, as far as can be known then.
    """
    if output is None or str(output) == "-":
        if sys.stdout is None:
            raise OutputError("standard output is closed; name a file with --output")
        yield Write(_to_screen, _is_utf8(sys.stdout.encoding), sys.stdout.isatty())
        return
    if any(is_same_file(output, name) for name in inputs if name is not None and name != "-"):
        raise OutputError(f"cannot write {str(output)!r}: it is an input; choose another {given}")
    from fim_private.whole_files import staged

    _written[str(output)] = False
    with staged(output, given=given) as write:
        yield Write(write)
    _written[str(output)] = True


Show = Callable[[Any, Callable[["Screen"], str]], None]


@contextmanager
def table_or_json(asked: dict[str, Any], *, inputs: Sequence[str | None] = ()) -> Iterator[Show]:
    """Open the output that is asked for, and yield what writes to it: plain values, or what renders them on a screen.

    It takes the output and its format, which is what the output's name ends in unless given, out of what is asked.
    Raises OutputError for a name of another form, before anything is spent.
    """
    output, form = asked.pop("output"), asked.pop("format")
    ending = "" if output is None else output.suffix.lower()
    if form is None and ending in _OTHER_FORMS:
        raise OutputError(
            f"cannot write {str(output)!r}: what is written here is a table or JSON, not {ending}; choose another "
            f"{parameter('output')}, or say which {parameter('format')} it is"
        )
    as_json = form is TextFormat.JSON or (form is None and ending == ".json")
    with destination(output, inputs=inputs) as write:

        def show(values: Any, render: Callable[[Screen], str]) -> None:
            if as_json:
                write.json(json.dumps(values, ensure_ascii=False))
            else:
                write(render(screen_for(output)))

        yield show


def ledger_at(path: str | None, *, allow_other_unit: bool) -> Ledger | None:
    """Return the ledger of a file; None for none. What is left in it is said at the end, if it was charged by then.

    Raises LedgerError, and ParameterError for that flag without one.
    """
    if path is None:
        if allow_other_unit:
            raise ParameterError(f"{parameter('allow_other_unit')} goes with {parameter('ledger')}")
        return None
    from fim_private.ledger.ledger import Ledger

    ledger = Ledger(path, allow_other_unit=allow_other_unit)
    _ledgers[path] = ledger
    return ledger


def forget_written() -> None:
    """Begin anew: nothing was written by this command yet, and no ledger was charged."""
    _written.clear()
    _ledgers.clear()


def left() -> list[str]:
    """Return what is left in the ledger that this command has charged, as text; nothing where it has charged none."""
    if not _ledgers:
        return []
    from fim_private.display import printable
    from fim_private.release.words import left_briefly

    said = {path: ledger.charged for path, ledger in _ledgers.items()}
    return [f"{left_briefly(by.left)} left in {printable(path)}" for path, by in said.items() if by is not None]


def tell_written() -> None:
    """Say in one line which files a command wrote, and what is left in its ledger; nothing where it wrote none."""
    if done := [name for name, is_written in _written.items() if is_written]:
        from fim_private.display import printable

        line = "; ".join([f"wrote {' and '.join(map(printable, done))}", *left()])
        encoding = getattr(sys.stderr, "encoding", None)
        if not _is_utf8(encoding):
            from rich.text import Text

            from fim_private.output import Screen

            line = Screen(ascii_only=True, encoding=encoding or "ascii").render([Text(line)]).rstrip("\n")
        note(line)


def _is_utf8(encoding: str | None) -> bool:
    return codecs.lookup(encoding or "ascii").name == "utf-8"


def is_same_file(output: Path, name: str) -> bool:
    """Tell whether an output is a file that is read, by whatever name. What cannot be told now, opening it tells."""
    for scheme in ("sqlite:///", "file://"):
        name = name.removeprefix(scheme)
    path = Path(name).expanduser()
    try:
        if not output.is_file():
            return False
        if path.is_dir():
            return path.resolve() in output.resolve().parents
        return any(map(output.samefile, glob.glob(str(path), recursive=True) or [str(path)]))  # noqa: PTH207 (Path.glob has no pattern from the root)
    except (OSError, RuntimeError, ValueError):
        return False


def _to_screen(content: str | bytes) -> None:
    """Write to standard output. Raises OutputError where that fails."""
    try:
        if isinstance(content, bytes):
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
        else:
            sys.stdout.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_stdout()
        reason = error.strerror or "the system refused"
        raise OutputError(f"cannot write to standard output: {reason}; name a file with --output") from None


def discard_stdout() -> None:
    """Keep the interpreter from failing once more on what could not be written, when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def screen_for(output: Path | None) -> Screen:
    """Return what can be shown where a table goes: colours on a terminal only, Greek where the encoding has it.

    What is named with --output, - included, gets every letter and no colours.
    """
    from fim_private.output import Screen

    if output is not None:
        return Screen()
    encoding = sys.stdout.encoding or "ascii"
    ascii_only = not codecs.lookup(encoding).name.startswith("utf")
    return Screen(colour=sys.stdout.isatty(), ascii_only=ascii_only, encoding=encoding)


_SUFFIXES = {
    ".json": ReleaseFormat.JSON,
    ".csv": ReleaseFormat.CSV,
    ".md": ReleaseFormat.MARKDOWN,
    ".parquet": ReleaseFormat.PARQUET,
    ".svg": ReleaseFormat.SVG,
}


@dataclass(frozen=True)
class Form:
    """A form to write. kept: whether all is written that a release says, so that it can be shown again in full."""

    format: ReleaseFormat
    kept: bool = False


def form_of(given: ReleaseFormat | None, output: Path | None) -> Form:
    """Return the form to write: as given, or as the output's name ends.

    Raises OutputError for Parquet on the screen, before anything is spent.
    """
    if given is None and output is not None:
        form = Form(_SUFFIXES.get(output.suffix.lower(), ReleaseFormat.TABLE), kept=True)
    else:
        form = Form(given or ReleaseFormat.TABLE)
    if form.format is ReleaseFormat.PARQUET and (output is None or str(output) == "-"):
        raise OutputError(f"cannot write Parquet to the screen; name a file with {parameter('output')}")
    return form


def write_release(
    write: Write,
    release: Release | SegmentedRelease,
    form: Form,
    output: Path | None,
    *,
    rules: Any = None,
    spelled: Callable[[Mapping[str, Any]], str] | None = None,
) -> None:
    """Write a release, or those of segments. rules: of it, if there are any, or of each segment under its name.

    spelled: as render_table takes it.
    """
    if form.format is ReleaseFormat.JSON:
        write.json(release.to_json(rules, whole=form.kept))
    elif form.format is ReleaseFormat.CSV:
        from fim_private.release.rules import rules_csv

        write.csv(release.to_csv() if rules is None else rules_csv(rules))
    elif form.format is ReleaseFormat.PARQUET:
        from fim_private.release.forms import parquet

        write.send(parquet(release))
    elif form.format is ReleaseFormat.SVG:
        write.send(release.to_svg().encode())
    elif form.format is ReleaseFormat.MARKDOWN:
        write(release.to_markdown(rules))
    else:
        from fim_private.output import render_table

        # A file is handed on: advice is for whoever asked.
        to_screen = output is None or str(output) == "-"
        write(render_table(release, screen_for(output), spelled=spelled, rules=rules, advise=to_screen))
