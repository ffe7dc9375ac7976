"""Docstrings as Markdown, for the documentation site (mkdocs.yml): lists of parameters, and
examples as code.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_PARAMETER = re.compile(r"^([\w*]+(?:, [\w*]+)*): (?=\S)")


def as_markdown(docstring: str) -> str:
    """Return a docstring with each `name: what it is` as an item of a list, and each doctest in a
    fence.
    """
    lines: list[str] = []
    in_example = False
    for line in docstring.splitlines():
        if line.startswith(">>> ") and not in_example:
            lines += ["", "```python"]
            in_example = True
        elif in_example and not line:
            lines.append("```")
            in_example = False
        before = lines[-1] if lines else ""
        if (
            not in_example
            and (not before or before.endswith("."))
            and (found := _PARAMETER.match(line))
        ):
            line = f"- **{found[1]}**: {line[found.end() :]}"
            lines += [""] * bool(before and not before.startswith(("- **", " ")))
        elif line.startswith(("Returns ", "Return ", "Raises ", "Warns ")) and before:
            lines.append("")
        lines.append(line)
    return "\n".join([*lines, "```"] if in_example else lines)


class Docstrings(griffe.Extension):
    """Gives mkdocstrings the docstrings of the package as Markdown."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)
