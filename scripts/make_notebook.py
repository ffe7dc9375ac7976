"""Make each notebook in docs/ of its source in scripts/, run it, and write it with its outputs. One
of them is to be tried by the reader, and is written without outputs, which are never the same.

Run from the root of the project with the extra bench installed; or with --check, to compare with
what is there.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
SOURCES = {
    "complete_journey": "complete_journey.py",
    "audits": "audits.py",
    "try": "try_it.py",
}
WITHOUT_OUTPUTS = {"try"}
# One cell may take so many seconds, on a busy machine.
_PATIENCE = 600


def cells_of(source: str) -> list[Any]:
    """Return the cells of a script in which "# %%" begins a cell and "# %% [markdown]" one of
    text.
    """
    cells = []
    for place, part in enumerate(re.split(r"^# %%", source, flags=re.MULTILINE)[1:]):
        kind, _, content = part.partition("\n")
        content = content.strip("\n")
        if kind.strip() == "[markdown]":
            cell = nbformat.v4.new_markdown_cell(re.sub(r"^# ?", "", content, flags=re.MULTILINE))
        else:
            cell = nbformat.v4.new_code_cell(content)
        cell["id"] = f"cell-{place}"
        cells.append(cell)
    return cells


def notebook_of(name: str) -> Any:
    """Return a notebook, without outputs."""
    source = (ROOT / "scripts" / SOURCES[name]).read_text(encoding="utf-8")
    notebook = nbformat.v4.new_notebook(cells=cells_of(source))
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    return notebook


def executed(name: str) -> Any:
    """Return a notebook with the outputs of a new run, in a folder of its own beside the data sets
    of the project. Raises CellExecutionError.
    """
    notebook = notebook_of(name)
    with tempfile.TemporaryDirectory() as clone:
        (Path(clone) / "datasets").symlink_to(ROOT / "datasets", target_is_directory=True)
        folder = str(Path(clone) / "docs")
        Path(folder).mkdir()
        # Where a ledger notes what it last saw, and where the package is found where it is not
        # installed.
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        # sets are shown in their order
        wanted = {"XDG_STATE_HOME": folder, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
        kept = {name: os.environ.get(name) for name in (*wanted, "PYTHONWARNINGS", "MPLBACKEND")}
        os.environ |= wanted
        # the notebook says itself what it does with warnings
        for name in ("PYTHONWARNINGS", "MPLBACKEND"):
            os.environ.pop(name, None)
        try:
            resources = {"metadata": {"path": folder}}
            NotebookClient(
                notebook, timeout=_PATIENCE, kernel_name="python3", resources=resources
            ).execute()
        finally:
            for name, value in kept.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran
    notebook.metadata = {
        "kernelspec": notebook.metadata["kernelspec"],
        "language_info": {"name": "python"},
    }
    return notebook


def comparable(output: Any) -> Any:
    """Return of an output what is the same in each run, whatever version of matplotlib and pandas
    there is.

    Texts as they are; of HTML its words; of pictures of pixels only that there is one.
    """
    if output.output_type == "stream":
        return output.name, output.text
    shown: dict[str, Any] = {}
    for kind, content in output.get("data", {}).items():
        if kind == "image/png":
            shown[kind] = "a picture"
        elif kind == "text/html":
            shown[kind] = _words(content)
        elif kind == "image/svg+xml" or (kind == "text/plain" and "<Figure" not in content):
            # pandas cuts its text to a width of its own; its HTML has the same.
            shown[kind] = None if "text/html" in output.data else content
    return output.output_type, shown


def comparables(notebook: Any) -> list[tuple[str, list[Any]]]:
    """Return each cell with its outputs, as they are compared."""
    return [(cell.source, _joined(cell.get("outputs", []))) for cell in notebook.cells]


def _joined(outputs: list[Any]) -> list[Any]:
    """Return outputs as they are compared. A kernel may cut what is printed anywhere."""
    joined: list[Any] = []
    for output in map(comparable, outputs):
        if output[0] == "stdout" and joined and joined[-1][0] == "stdout":
            joined[-1] = ("stdout", joined[-1][1] + output[1])
        else:
            joined.append(output)
    return joined


class _Words(HTMLParser):
    """The words between tags, but for those of a style."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Note which tag was opened last."""
        self.inside = tag

    def handle_endtag(self, tag: str) -> None:
        """Note that it is closed."""
        self.inside = ""

    def handle_data(self, data: str) -> None:
        """Keep what is shown."""
        if self.inside != "style":
            self.words += data.split()


def _words(content: str) -> list[str]:
    parser = _Words()
    parser.feed(content)
    return parser.words


def main() -> None:
    """Write the notebooks, or compare them; those that are named, or all."""
    names = [name for name in sys.argv[1:] if name != "--check"] or SOURCES
    for name in names:
        path = ROOT / "docs" / f"{name}.ipynb"
        made = notebook_of(name) if name in WITHOUT_OUTPUTS else executed(name)
        if "--check" not in sys.argv[1:]:
            path.write_text(nbformat.writes(made) + "\n", encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
        elif comparables(made) != comparables(nbformat.read(path, as_version=4)):
            sys.exit(f"docs/{name}.ipynb differs from its source: run scripts/make_notebook.py")


if __name__ == "__main__":
    main()
