"""Pages and drawings, made of the templates beside this file. They load nothing when they are seen.

page.css has the looks of a page. page.js adds a search box and sorting. A page reads as well
without them.
"""

from __future__ import annotations

import base64
import hashlib
import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fim_private import __version__
from fim_private.display import item_name, printable
from fim_private.dp.composition import growth_bound
from fim_private.dp.cost import least_in_words, most_in_words, one_in_words, rounded_up
from fim_private.errors import OutputError, ParameterError, parameter, shown
from fim_private.release import words
from fim_private.release.drawing import COLOURS, DARK_COLOURS
from fim_private.release.labels import SMALL
from fim_private.release.officer import facts_of_several

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent
# The name of a page has one of these, or none.
_PAGE_ENDINGS = ("", ".html", ".htm")


def check_page_name(page: Path, *, option: str) -> None:
    """Raise OutputError if the name of a page ends as that of something else. option: the parameter
    that gave the name, marked.
    """
    if page.suffix.lower() not in _PAGE_ENDINGS:
        raise OutputError(
            f"cannot write {str(page)!r}: a page is HTML; choose a {option} that ends in .html"
        )


def checked_title(title: str | None) -> None:
    """Raise ParameterError for a title that is not a text, or that is blank."""
    if title is not None and not (isinstance(title, str) and title.strip()):
        raise ParameterError(
            f"{parameter('title')} must be a text that is not empty, not {shown(title)}"
        )


def render(template: str, **values: object) -> str:
    """Return a page or a drawing: a template of this folder with these values in it."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    """Return the templates. A value in them is shown as text: it is never taken for a tag."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        finalize=_as_text,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    script = (_FOLDER / "page.js").read_text(encoding="utf-8")
    script_hash = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{script_hash}'; img-src data:"
    )
    environment.globals |= {
        "version": __version__,
        "script": script,
        "policy": policy,
        "at_least": least_in_words,
        "at_most": most_in_words,
        "one_in_words": one_in_words,
        "rounded_up": rounded_up,
        "growth_bound": growth_bound,
        "facts_of_several": facts_of_several,
        "words": words,
        "colours": COLOURS,
        "dark_colours": DARK_COLOURS,
        "small": SMALL,
    }
    environment.filters |= {
        "item_name": item_name,
        "thousands": "{:,}".format,
        "fixed": "{:.1f}".format,
        "sort_key": _sort_key,
        "one_line": lambda text: " ".join(text.split()),
    }
    return environment


def _as_text(value: object) -> object:
    """Return a value as text on one line. HTML that a template has made stays as it is."""
    return value if hasattr(value, "__html__") else printable(str(value))


def _sort_key(value: float | None) -> str:
    """Return a number as a script reads it. What is not known comes first."""
    if value is None:
        return "-1"
    if not math.isfinite(value):
        return "1e300"
    return f"{value:.6g}"
