"""docs/data, where every table of a study is a CSV file, and the pages that quote these files.

A page is a template: text by hand, with marks that a page maker fills in from the tables. So no
page gives a figure that its tables do not.

    {{FILE | CONDITIONS | COLUMN}}          the value in the only row that meets the conditions
    {{FILE | CONDITIONS | COLUMN | FORMAT}} the same as a number, in a format such as .0%
    {{count FILE | CONDITIONS}}             how many rows meet them; least, most and mean
                                            take a COLUMN, and a FORMAT
    {{table FILE | CONDITIONS | COLUMNS}}   these rows and columns as a table

Conditions and columns stand with ; between. A condition is `column==value`, or several values with
" or " between; `*` stands for no condition.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.frame.output_files import ROOT, write_text
from benchmarks.frame.study import Section
from benchmarks.frame.tables import Table, markdown_table, written

Row = dict[str, str]

TEMPLATES = ROOT / "benchmarks" / "findings"
STUDIES, SECTIONS = "studies", "sections"
_STUDY_COLUMNS = (
    *("study", "question", "command", "date", "commit", "seed", "processor", "cores", "seconds"),
    *("python", "versions", "left out"),
)
_SECTION_COLUMNS = ("study", "section", "reading", "tables")
_SPELT = str.maketrans({"δ": "delta", "ε": "epsilon", "λ": "lambda", "ℓ": "l", "'": "", "’": ""})
_GROUPED = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")
_MARK = re.compile(r"\{\{(?:(count|least|most|mean|table) )?([^|}]+)\|([^}]+)\}\}")


# The files.


def publish(folder: Path, about: Row, sections: Iterable[Section]) -> None:
    """Write the tables of a study, in the place of those that it had, and what is said of them.

    Args:
        folder: docs/data, which is made if it is missing.
        about: The study's row of studies.csv: its name, question and circumstances.
        sections: What the study has found.
    """
    folder.mkdir(parents=True, exist_ok=True)
    study = about["study"]
    rows = []
    for name in _tables_of(folder, study):
        (folder / f"{name}.csv").unlink()
    for section in sections:
        names = file_names(study, section.title, len(section.tables))
        for name, table in zip(names, section.tables, strict=True):
            write_text(_csv_text(table), folder / f"{name}.csv")
        row = (study, section.title, section.reading.strip(), " ".join(names))
        rows.append(dict(zip(_SECTION_COLUMNS, row, strict=True)))
    _replace_rows(folder, STUDIES, _STUDY_COLUMNS, study, [about])
    _replace_rows(folder, SECTIONS, _SECTION_COLUMNS, study, rows)
    write_text("\n".join(_index_lines(folder)), folder / "index.md")


def circumstances(study: str, results: dict[str, Any], left_out: str) -> Row:
    """Return a study's row of studies.csv."""
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    whole_run = not results.get("resumed")
    cells = (
        *(study, results.get("question", ""), results["command"], results["date"]),
        *(results["commit"] or "unknown", results.get("seed", ""), results["cpu"]),
        *(results["cores"], results.get("seconds", "") if whole_run else ""),
        *(results["python"], versions, left_out),
    )
    return dict(zip(_STUDY_COLUMNS, map(str, cells), strict=True))


def file_names(study: str, title: str, tables: int) -> list[str]:
    """Return the names of the tables of a section, without .csv."""
    heading = title.rpartition(": ")[2].lower().translate(_SPELT)
    words = re.findall(r"[a-z0-9]+", heading)
    name = f"{study}_{'_'.join(words)}"
    return [name if number == 1 else f"{name}_{number}" for number in range(1, tables + 1)]


def read_rows(folder: Path, name: str) -> list[Row]:
    """Return the rows of a table."""
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _tables_of(folder: Path, study: str) -> list[str]:
    """Return the names of the tables that a study has now."""
    if not (folder / f"{SECTIONS}.csv").is_file():
        return []
    sections = [row for row in read_rows(folder, SECTIONS) if row["study"] == study]
    return [name for row in sections for name in row["tables"].split()]


def _csv_text(table: Table) -> str:
    rows = [[_plain(written(cell)) for cell in row] for row in table.rows]
    return _joined([table.columns, *rows])


def _plain(text: str) -> str:
    """Return a cell as programs read it: no commas in numbers, nothing where nothing is."""
    if text == "–":
        return ""
    return text.replace(",", "") if _GROUPED.fullmatch(text) else text


def _joined(rows: Iterable[Iterable[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _replace_rows(
    folder: Path, name: str, columns: Sequence[str], study: str, rows: list[Row]
) -> None:
    """Write a list anew with these rows of a study, which come last if it had none."""
    before = read_rows(folder, name) if (folder / f"{name}.csv").is_file() else []
    places = [place for place, row in enumerate(before) if row["study"] == study]
    first = places[0] if places else len(before)
    kept = [row for row in before if row["study"] != study]
    after = [*kept[:first], *rows, *kept[first:]]
    cells = [[row.get(column, "") for column in columns] for row in after]
    write_text(_joined([columns, *cells]), folder / f"{name}.csv")


def _index_lines(folder: Path) -> Iterator[str]:
    """Yield the page that names all tables."""
    yield "# All tables of the benchmarks\n"
    yield f"[{SECTIONS}.csv]({SECTIONS}.csv) says how to read each table, and"
    yield f"[{STUDIES}.csv]({STUDIES}.csv) with which versions it was made.\n"
    sections = read_rows(folder, SECTIONS)
    for study in read_rows(folder, STUDIES):
        yield f"## {study['question']}\n"
        if study["command"]:
            yield f"    {study['command']}\n"
            place = f"{study['processor']}, {study['cores']} cores"
            yield f"{study['date']}, commit {study['commit']}; {place}. {study['left out']}\n"
        for section in sections:
            links = ", ".join(_links(section))
            if section["study"] == study["study"] and links:
                yield f"- {section['section']}: {links}"
        yield ""


def _links(section: Row) -> Iterator[str]:
    tables = section["tables"].split()
    for number, name in enumerate(tables, 1):
        title = "table" if len(tables) == 1 else f"table {number}"
        yield f"[{title}]({name}.csv)"


# The pages.


def fill_page(name: str, docs: Path) -> None:
    """Write a page of docs from its template and the tables in docs/data."""
    template = (TEMPLATES / name).read_text(encoding="utf-8")
    write_text(filled(template, docs / "data"), docs / name)
    print(f"Written: {name}")


def filled(template: str, folder: Path) -> str:
    """Return a page: its template with every mark filled in from the tables."""
    return _MARK.sub(lambda mark: _value(mark, folder), template)


def _value(mark: re.Match[str], folder: Path) -> str:
    kind, name, words = mark[1], mark[2].strip(), [word.strip() for word in mark[3].split(" | ")]
    rows = list(_chosen(read_rows(folder, name), words[0]))
    if kind == "count":
        return str(len(rows))
    if kind == "table":
        columns = words[1].split("; ")
        cells = [[_shown(row[column]) for column in columns] for row in rows]
        right = [
            all(not cell or _NUMBER.match(cell) for cell in column)
            for column in zip(*cells, strict=True)
        ]
        return "\n".join(markdown_table(columns, cells, right)).rstrip()
    values = [row[words[1]] for row in rows]
    if kind is None:
        if len(values) != 1:
            raise ValueError(f"{mark[0]} is about {len(values)} rows, not one")
        return _shown(values[0], *words[2:])
    numbers = [float(value) for value in values if _NUMBER.fullmatch(value)]
    figures = {"least": min(numbers), "most": max(numbers), "mean": sum(numbers) / len(numbers)}
    return _shown(f"{figures[kind]:.10g}", *words[2:])


def _chosen(rows: list[Row], conditions: str) -> Iterator[Row]:
    allowed = {}
    if conditions != "*":
        for condition in conditions.split("; "):
            column, _, values = condition.partition("==")
            allowed[column] = values.split(" or ")
    for row in rows:
        if all(row[column] in values for column, values in allowed.items()):
            yield row


def _shown(text: str, style: str = "") -> str:
    """Return a cell as people read it."""
    if style:
        return format(float(text), style).replace("%", " %")
    if re.fullmatch(r"-?\d{4,}(\.\d+)?", text):
        whole, point, fraction = text.partition(".")
        return f"{int(whole):,}{point}{fraction}"
    return text.replace("|", "\\|") or "–"
