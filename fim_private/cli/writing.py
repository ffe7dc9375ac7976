"""Where output goes, the screen or a file, and in which form; and what is shown beside it: progress
and warnings.
"""

from __future__ import annotations

import codecs
import glob
import json
import logging
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

import fim_private as fim
from fim_private.display import as_json, printable
from fim_private.errors import (
    LedgerError,
    OutputError,
    ParameterError,
    PrivacyWarning,
    parameter,
    shown,
)
from fim_private.options.declaration import OptionValues
from fim_private.options.outputs import FORM_OF_ENDING, Intervals, ReleaseFormat
from fim_private.whole_files import staged

if TYPE_CHECKING:
    from fim_private.output.releases import Spelled
    from fim_private.output.screen import Screen
    from fim_private.release.forms import AnyRelease
    from fim_private.release.rules import RuleChoice


@dataclass(frozen=True)
class Write:
    """Writes to where a command's output goes.

    Attributes:
        send: Takes text, or bytes that are to stay as they are.
        utf8: Whether the text arrives in UTF-8.
        terminal: Whether it goes to a terminal, which acts on some letters.
    """

    send: Callable[[str | bytes], object]
    utf8: bool = True
    terminal: bool = False

    def json(self, text: str) -> None:
        """Write a line of JSON: in UTF-8, or in ASCII with escapes where the screen has another
        encoding.
        """
        if not self.utf8:
            text = json.dumps(json.loads(text))
        self._send_encoded(f"{text}\n")

    def document(self, content: str | bytes) -> None:
        """Write bytes as they are, and CSV, Markdown or HTML in UTF-8 whatever the screen.

        They have no escapes of their own. A terminal would act on some letters, and gets escapes
        for these. Line breaks within quotes are those of a name; all others stay.
        """
        if isinstance(content, str) and self.terminal:
            content = _NO_LINE_END.sub(lambda match: printable(match[0]), content)
        self._send_encoded(content)

    def _send_encoded(self, content: str | bytes) -> None:
        if isinstance(content, str):
            content = content.encode(errors="backslashreplace")
        self.send(content)


@dataclass
class _OutputFile:
    """A file that the command writes.

    Attributes:
        path: Its name, as it was given.
        option: The parameter that named it, marked.
        is_written: Whether it is written already.
    """

    path: Path
    option: str
    is_written: bool = False


# The files of the command that runs, in the order of its options; and its ledgers.
_outputs: list[_OutputFile] = []
_ledgers: list[fim.Ledger] = []
# What is in quotes, or on one line.
_NO_LINE_END = re.compile(r'"[^"]*"|[^"\n]+')
# The form that each ending of --output stands for; without one it is a table.
FORMS = {"": ReleaseFormat.TABLE, ".txt": ReleaseFormat.TABLE, **FORM_OF_ENDING}
_TEXT_ENDINGS = ("", ".txt", ".json")
# The options that name files to read.
_READ = ("catalogue", "exclude", "itemsets", "known", "with_each", "ledger")
_OR_A_FILE = f", or name a file with {parameter('output')} if the command has that"
_NO_TEXT = {ReleaseFormat.PARQUET: "Parquet", ReleaseFormat.XLSX: "a workbook of Excel"}


def output_path(text: str) -> Path:
    """Return the path of a file to write. Raises OutputError for none, and for a folder, which a
    Path would forget.
    """
    if not text or text.endswith(("/", os.sep)):
        problem = f"{text!r}: it names a folder" if text else "to an empty path"
        raise OutputError(f"cannot write {problem}; name a file")
    return Path(text)


def is_screen(output: Path | None) -> bool:
    """Tell whether an output is standard output: no file is named, or -."""
    return output is None or str(output) == "-"


@contextmanager
def destination(
    output: Path | None, inputs: Sequence[str | None] = (), *, option: str = parameter("output")
) -> Iterator[Write]:
    """Open an output and yield what writes to it; None or - is the screen.

    inputs: what the command reads, which it must not overwrite. option: the parameter that gave
    the path. Raises OutputError at once for a file that another option names, too, and for what
    cannot be written, as far as can be known then.
    """
    if output is None or is_screen(output):
        if sys.stdout is None:
            raise OutputError(f"standard output is closed; open it{_OR_A_FILE}")
        is_utf8 = codecs.lookup(sys.stdout.encoding or "ascii").name == "utf-8"
        yield Write(_to_screen, is_utf8, sys.stdout.isatty())
        return
    if any(is_same_file(output, name) for name in inputs if name is not None and name != "-"):
        raise OutputError(f"cannot write {str(output)!r}: it is an input; choose another {option}")
    file = _OutputFile(output, option)
    with staged(output, option=option) as write:
        _check_is_of_one_option(file)
        _outputs.append(file)
        yield Write(write, terminal=_is_terminal(output))
    file.is_written = True


def _check_is_of_one_option(file: _OutputFile) -> None:
    """Raise OutputError if another option names the same file: one would overwrite the other."""
    for earlier in _outputs:
        if file.path.resolve() == earlier.path.resolve():
            raise OutputError(
                f"cannot write {str(file.path)!r}: it is {earlier.option}; choose another "
                f"{file.option}"
            )


@dataclass(frozen=True)
class Output:
    """The output of a command, which is open, and the page beside it.

    Attributes:
        options: The options of the command.
        form: The form that was asked for, or that the name of the output ends in.
        write: What writes to the output.
        page: What writes to the page; None without a page.
    """

    options: OptionValues
    form: ReleaseFormat
    write: Write
    page: Write | None

    def show(self, values: object, render: Callable[[Screen], str]) -> None:
        """Write plain values as JSON, or a table of them."""
        if self.form == ReleaseFormat.JSON:
            self.write.json(as_json(values))
        else:
            self.write.send(render(screen_for(self.options["output"])))

    def show_release(
        self,
        release: AnyRelease,
        choice: RuleChoice | None = None,
        spelled: Spelled = None,
    ) -> None:
        """Write a release, and the page.

        choice: which rules are shown; None for no rules. spelled: as render_table takes it.
        """
        from fim_private.output.releases import render_table
        from fim_private.release.files import CONTENT
        from fim_private.release.page import page
        from fim_private.release.rules import rules_by_segment

        output, rules = self.options["output"], None
        if self.options.get("intervals") == Intervals.EXACT:
            release = release.with_exact_intervals()
        if choice is not None:
            rules = rules_by_segment(release, choice)
        if self.form == ReleaseFormat.TABLE:
            text = render_table(
                release, screen_for(output), spelled=spelled, rules=rules, advise=is_screen(output)
            )
            self.write.send(text)
        elif self.form == ReleaseFormat.JSON:
            # A file whose name says so has all of a release, to be loaded again.
            self.write.json(release.to_json(rules, whole=self.options["format"] is None))
        else:
            self.write.document(CONTENT[self.form](release, rules))
        budget: tuple[str, ...] = ()
        if self.page is not None:
            # The release is paid for: it is written, too, if its ledger cannot be read again.
            with suppress(LedgerError):
                budget = budget_of(self.options.get("ledger"), release)
        self.show_page(partial(page, release, rules, budget=budget))

    def show_page(self, make: Callable[..., str]) -> None:
        """Write what makes a page under a title, if there is a page."""
        if self.page is not None:
            self.page.document(make(title=self.options["title"]))


@contextmanager
def output_of(
    options: OptionValues, *inputs: str | None, endings: Iterable[str] = _TEXT_ENDINGS
) -> Iterator[Output]:
    """Open the output of a command, and the page beside it.

    inputs: what the command reads, beside what its options name. endings: those that its files may
    have. Before anything is spent, it raises OutputError for an ending that stands for no form, and
    for what is no text on the screen. It raises MissingExtraError where the package that writes the
    form is not installed.
    """
    output = options["output"]
    form = options["format"]
    if form is None:
        ending = "" if output is None else output.suffix.lower()
        if ending not in endings:
            *first, last = filter(None, endings)
            raise OutputError(
                f"cannot write {str(output)!r}: this command writes files that end in "
                f"{', '.join(first)} or {last}; "
                f"choose another {parameter('output')}, or give {parameter('format')}"
            )
        form = FORMS[ending]
    if form in _NO_TEXT and is_screen(output):
        raise OutputError(
            f"cannot write {_NO_TEXT[form]} to the screen; name a file with {parameter('output')}"
        )
    if form == ReleaseFormat.XLSX:
        from fim_private.release.forms import excel_writer

        excel_writer()
    inputs = (*inputs, *map(options.get, _READ))
    with destination(output, inputs) as write, _page_beside(options, inputs) as page:
        yield Output(options, form, write, page)


@contextmanager
def _page_beside(options: OptionValues, inputs: Sequence[str | None]) -> Iterator[Write | None]:
    """Open the page beside an output. Raises an error at once for one that could not be written."""
    report, title = options.get("report"), options.get("title")
    if report is None:
        if title is not None:
            raise ParameterError(
                f"{parameter('title')} goes with {parameter('report')}: it stands on top of the "
                f"page"
            )
        yield None
        return
    from fim_private.release.templates import check_page_name, checked_title

    check_page_name(report, option=parameter("report"))
    checked_title(title)
    with destination(report, inputs, option=parameter("report")) as write:
        yield write


def ledger_of(options: OptionValues) -> fim.Ledger | None:
    """Return the ledger that options name, or None. The command ends with what is left in it,
    if it was charged.
    """
    path = options["ledger"]
    if path is None:
        for name in ("allow_other_unit", "again"):
            if options[name]:
                raise ParameterError(f"{parameter(name)} goes with {parameter('ledger')}")
        return None
    ledger = fim.Ledger(path, allow_other_unit=options["allow_other_unit"], again=options["again"])
    _ledgers.append(ledger)
    return ledger


def budget_of(path: str | None, release: AnyRelease, *, verify: bool = False) -> tuple[str, ...]:
    """Return what a ledger says now of all its releases, in sentences; none without a ledger.

    verify: whether all its entries are verified. Raises ParameterError if it has no entry of this
    release.
    """
    if path is None:
        return ()
    from fim_private.output.ledgers import budget_in_words

    statement = fim.Ledger(path).statement(verify=verify)
    if release.charged is None or not statement.has(release.charged):
        raise ParameterError(
            f"the release was not charged to {shown(statement.name)}; give the "
            f"{parameter('ledger')} that it was charged to, or leave it out"
        )
    return budget_in_words(statement)


def left() -> Iterator[str]:
    """Yield in words how much budget remains in each ledger that this command charged."""
    for ledger in _ledgers:
        if ledger.charged is not None:
            from fim_private.release.words import left_briefly

            yield f"{left_briefly(ledger.charged.left)} left in {printable(ledger.name)}"


def charges_that_stand() -> list[str]:
    """Return in words that each ledger was charged, for a command that ends before its output."""
    return [f"the charge stands: {words}" for words in left()]


def tell_interrupted() -> None:
    """Say in one line that the charge of a command that a signal ends stands; nothing without."""
    charges = charges_that_stand()
    if charges:
        typer.echo("; ".join(["Interrupted", *charges]), err=True)


def tell_written() -> None:
    """Say in one line which files a command wrote, and what is left in its ledger; nothing where it
    wrote none.
    """
    written = [printable(str(file.path)) for file in _outputs if file.is_written]
    if written:
        note("; ".join([f"wrote {' and '.join(written)}", *left()]))


def _is_terminal(output: Path) -> bool:
    """Tell whether a file is a terminal, as /dev/tty is."""
    try:
        if not output.is_char_device():
            return False
        with output.open("wb", buffering=0) as device:
            return device.isatty()
    except (OSError, ValueError):
        return False


def is_same_file(output: Path, name: str) -> bool:
    """Tell whether an output is a file that is read, by whatever name; opening it shows the
    rest.
    """
    path = Path(name.removeprefix("sqlite:///").removeprefix("file://")).expanduser()
    try:
        if not output.is_file():
            return False
        if path.is_dir():
            return path.resolve() in output.resolve().parents
        return any(map(output.samefile, glob.glob(str(path), recursive=True) or [str(path)]))  # noqa: PTH207 (Path.glob has no pattern from the root)
    except (OSError, RuntimeError, ValueError):
        return False


def _to_screen(content: str | bytes) -> None:
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
        raise OutputError(
            f"cannot write to standard output: {error.strerror or 'the system refused'}; see to "
            f"that{_OR_A_FILE}"
        ) from None


def discard_stdout() -> None:
    """Keep the interpreter, when it ends, from trying again to write what could not be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def screen_for(output: Path | None) -> Screen:
    """Return what can be shown where a table goes."""
    if is_screen(output):
        return _screen_of(sys.stdout)
    from fim_private.output.screen import Screen

    return Screen()


def _screen_of(stream: TextIO) -> Screen:
    from fim_private.output.screen import Screen

    encoding = stream.encoding or "ascii"
    return Screen(
        colour=stream.isatty(),
        ascii_only=not codecs.lookup(encoding).name.startswith("utf"),
        encoding=encoding,
        bare=bool(os.environ.get("NO_COLOR")),  # see no-color.org
    )


# What a process takes beside the data: libraries, threads, what their allocators keep ready.
_BESIDE = 2 << 30
# Work that takes less shows no bar.
_QUIET_SECONDS = 1.0
Show = Callable[[float], None]
_silent = False


def silence(is_silent: bool) -> None:
    """Say nothing from now on but errors, or again all there is."""
    global _silent
    _silent = is_silent


def note(text: str) -> None:
    """Say something in a line on standard error, with words for what it cannot show."""
    if not _silent and sys.stderr is not None:
        typer.echo(_screen_of(sys.stderr).text(text), err=True)


def _on_terminal() -> bool:
    return not _silent and sys.stderr is not None and sys.stderr.isatty()


def begin(spell: Callable[[str], str]) -> None:
    """Begin anew: nothing was written by this command yet, and no ledger was charged. From now on,
    warnings of privacy are printed as notes, with parameters named as spell says.
    """
    silence(False)
    _outputs.clear()
    _ledgers.clear()
    shown_otherwise = warnings.showwarning

    def show(message: Warning | str, *place: Any) -> None:
        if isinstance(message, PrivacyWarning):
            note(f"Warning: {message.spelled(spell)}")
        elif not _silent:
            shown_otherwise(message, *place)

    warnings.filterwarnings("always", category=PrivacyWarning)
    warnings.showwarning = show  # type: ignore[assignment]


def hold_process(max_memory: str | None) -> None:
    """Have the system refuse this process more than twice its limit, and never more than the
    machine has.

    It is for what is decoded in one piece before it can be estimated. Raises ParameterError for
    what is no size.
    """
    from fim_private.reading.memory import MemoryLimit

    limit, machine = MemoryLimit.of(max_memory), MemoryLimit.of_whole_machine()
    try:
        import resource

        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        taken = 1024 * int(status.partition("VmData:")[2].split()[0])
    except (ImportError, OSError, ValueError, IndexError):
        # Only Linux counts what is allocated this way.
        return
    if limit.most is None or machine is None:
        return
    most = taken + min(2 * limit.most + _BESIDE, max(limit.most * 5 // 4, machine))
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if all(most < bound for bound in (soft, hard) if bound != resource.RLIM_INFINITY):
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


@contextmanager
def progress_bar(label: str) -> Iterator[Show]:
    """Yield a function that shows on a terminal how far the work is, from 0 to 1; the bar goes away
    at the end.
    """
    if not _on_terminal():
        yield lambda fraction: None
        return
    from rich.console import Console
    from rich.progress import Progress

    # What the command writes is its own affair: rich would send standard output to the console of
    # the bar.
    bar = Progress(
        console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False
    )
    task = bar.add_task(label, total=1.0)
    begun = time.monotonic()

    def show(fraction: float) -> None:
        if time.monotonic() - begun > _QUIET_SECONDS:
            bar.start()
            bar.update(task, completed=fraction)

    try:
        yield show
    finally:
        bar.stop()


@contextmanager
def reading_shown() -> Iterator[None]:
    """Say on standard error, on a terminal, as what a file was read: its form and columns, nothing
    of its rows.
    """
    if not _on_terminal():
        yield
        return
    logger = logging.getLogger("fim_private.reading")
    handler = logging.StreamHandler(sys.stderr)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
