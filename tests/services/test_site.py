"""The documentation site builds without a warning, and is read without a network."""

import re
from pathlib import Path

import pytest
from patience import python
from test_browser import Browser

REPOSITORY = Path(__file__).resolve().parents[2]
# What a page loads by itself, from somewhere else.
LOADED = re.compile(
    r'(?:<(?:script|img|iframe)[^>]*src="|<link[^>]*rel="?(?:stylesheet|preload)[^>]*href="|@import ")(?:https?:)?//'  # noqa: E501
)

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site. Links to what is not there are warnings, and these are errors."""
    folder = tmp_path_factory.mktemp("site")
    command = ("-m", "mkdocs", "build", "--strict", "--site-dir", folder)
    variables = {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(REPOSITORY)}
    python(*command, folder=REPOSITORY, **variables)
    return folder


def test_every_page_is_in_the_menu_and_needs_no_network(site: Path) -> None:
    pages = {page.stem for page in site.glob("*.html")} - {"404"}
    assert pages >= {path.stem for path in (REPOSITORY / "docs").glob("*.md")}
    menu = (site / "index.html").read_text(encoding="utf-8")
    for page in pages:
        assert f'href="{page}.html"' in menu, page
        assert not LOADED.search((site / f"{page}.html").read_text(encoding="utf-8")), page


def test_formulas_and_docstrings_are_set(site: Path) -> None:
    assert "<math" in (site / "large-margin.html").read_text(encoding="utf-8")
    proofs = (site / "privacy.html").read_text(encoding="utf-8")
    assert proofs.count('<div class="formula"><math display="block">') > 30
    for power in ("e^{", "√(", "Z_ℓ"):
        assert proofs.count(power) < 20, power
    reference = (site / "python.html").read_text(encoding="utf-8")
    for name in ("mine", "count", "plan", "Ledger", "Release", "LargeMargin"):
        assert re.search(rf'id="fim_private[\w.]*\.{name}"', reference), name


def test_the_home_page_links_every_page() -> None:
    folder = REPOSITORY / "docs"
    home = (folder / "index.md").read_text(encoding="utf-8")
    pages = [path.name for path in (*folder.glob("*.md"), *folder.glob("*.ipynb"))]
    assert [name for name in pages if f"]({name})" not in home] == ["index.md"]


def test_the_search_box_works_in_a_page_that_is_opened_as_a_file(
    site: Path, tmp_path: Path
) -> None:
    browser = Browser(tmp_path)
    part = "document.querySelector('[data-md-component=search-%s]')"
    try:
        browser.show((site / "index.html").as_uri(), 1300)
        browser.run(f"{part % 'query'}.focus()")
        browser.call("Input.insertText", text="erasure")
        browser.run(f"{part % 'query'}.dispatchEvent(new KeyboardEvent('keyup'))")
        found = ""
        while "For the privacy officer" not in found:  # until the browser's time is over
            found = browser.run(f"{part % 'result'}.innerText")
    finally:
        browser.close()
