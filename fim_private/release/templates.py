"""Pages and drawings, made of the templates beside this file. They load nothing when they are seen.

page.css has the looks of a page. page.js adds a search box and sorting. A page reads as well
without them.
"""

from __future__ import annotations

import base64
import hashlib
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fim_private import __version__
from fim_private.display import item_name, printable
from fim_private.errors import ParameterError, parameter, shown
from fim_private.reading.labels import Item
from fim_private.release import words

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent
# A sentence in pieces: texts, and itemsets, whose names a page marks as such.
Sentence = tuple[str | tuple[Item, ...], ...]


@dataclass(frozen=True)
class Lead:
    """The first paragraph of a page, which can be read out.

    Attributes:
        sentence: What is surest.
        remark: How much of the page is sure.
        heading: The segment that the sentence is about; empty for a whole release.
    """

    sentence: Sentence
    remark: str = ""
    heading: str = ""


@dataclass(frozen=True)
class Number:
    """A number in a table.

    Attributes:
        value: The value by which its column is sorted; None sorts first.
        shown: The number as a text.
        interval: Its interval as a text, if it has one.
    """

    value: float | None
    shown: str
    interval: str = ""

    @property
    def sort_key(self) -> str:
        """The value as a script reads it."""
        if self.value is None:
            return "-1"
        if not math.isfinite(self.value):
            return "1e300"
        return f"{self.value:.6g}"


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
        "seeded": words.SEEDED,
        "script": script,
        "policy": policy,
    }
    environment.filters |= {
        "item_name": item_name,
        "thousands": "{:,}".format,
        "fixed": "{:.1f}".format,
    }
    return environment


def _as_text(value: object) -> object:
    """Return a value as text on one line. HTML that a template has made stays as it is."""
    return value if hasattr(value, "__html__") else printable(str(value))
