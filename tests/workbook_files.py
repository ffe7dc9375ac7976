"""Workbooks of Excel, written by hand: cells of all kinds, and XML of any kind."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from xml.sax.saxutils import escape

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_STYLES = '<cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/></cellXfs>'

Rows = Mapping[int, Sequence[object]]


def workbook(*sheets: Rows | str, strings: Sequence[str] = (), hidden: Sequence[int] = ()) -> bytes:
    """A workbook. sheets: rows by their number from 1 on, or XML. strings: shared ones."""
    parts = {
        "_rels/.rels": _related([("officeDocument", "xl/workbook.xml")]),
        "xl/workbook.xml": f'{_HEAD}<workbook xmlns="{_MAIN}" xmlns:r="{_KINDS}"><sheets>'
        + "".join(
            (
                f'<sheet name="S{n}" sheetId="{n}" r:id="r{n}" '
                f'state="{"hidden" if n in hidden else "visible"}"/>'
            )
            for n in range(1, len(sheets) + 1)
        )
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _related(
            [
                *(("worksheet", f"worksheets/sheet{n}.xml") for n in range(1, len(sheets) + 1)),
                ("sharedStrings", "sharedStrings.xml"),
                ("styles", "styles.xml"),
            ]
        ),
        "xl/styles.xml": f'{_HEAD}<styleSheet xmlns="{_MAIN}">{_STYLES}</styleSheet>',
        "xl/sharedStrings.xml": f'{_HEAD}<sst xmlns="{_MAIN}">'
        + "".join(f"<si><t>{escape(text)}</t></si>" for text in strings)
        + "</sst>",
    }
    for number, sheet in enumerate(sheets, 1):
        rows = sheet if isinstance(sheet, str) else "".join(map(_row, sheet, sheet.values()))
        parts[f"xl/worksheets/sheet{number}.xml"] = (
            f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'
        )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def _related(targets: Sequence[tuple[str, str]]) -> str:
    return (
        f'{_HEAD}<Relationships xmlns="{_RELATIONS}">'
        + "".join(
            f'<Relationship Id="r{n}" Type="{_KINDS}/{kind}" Target="{target}"/>'
            for n, (kind, target) in enumerate(targets, 1)
        )
        + "</Relationships>"
    )


def _row(number: int, cells: Sequence[object]) -> str:
    places = ((f"{chr(65 + place)}{number}", cell) for place, cell in enumerate(cells))
    held = "".join(_cell(place, cell) for place, cell in places if cell is not None)
    return f'<row r="{number}">{held}</row>'


def _cell(place: str, cell: object) -> str:
    if isinstance(cell, bool):
        return f'<c r="{place}" t="b"><v>{int(cell)}</v></c>'
    if isinstance(cell, date):
        moment = cell if isinstance(cell, datetime) else datetime(cell.year, cell.month, cell.day)
        days = (moment - datetime(1899, 12, 30)).total_seconds() / 86_400
        return f'<c r="{place}" s="{2 if isinstance(cell, datetime) else 1}"><v>{days!r}</v></c>'
    if isinstance(cell, int | float):
        return f'<c r="{place}"><v>{cell!r}</v></c>'
    text = escape(str(cell))
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
