"""The page of a release in a real browser, Debian's chromium: no errors, nothing clipped, and nothing else fetched."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from patience import PATIENCE

import fim_private as fim

pytestmark = pytest.mark.full
SHOP = [["wholemeal bread, sliced", "salted butter", "jam"]] * 300 + [["salted butter", "brown rice"]] * 400
LONG = [["Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft", "x" * 90]] * 400
# Measures the page in a frame of that width: how wide it is, and which elements stick out of it.
HARNESS = """<!DOCTYPE html><link rel="icon" href="data:,"><body>
<iframe id="page" src="page.html" width="{width}" height="900"></iframe><script>
document.getElementById("page").onload = event => {{
  const page = event.target.contentDocument, wide = page.documentElement.clientWidth;
  const out = [...page.body.querySelectorAll("*")]
    .filter(each => each.getBoundingClientRect().right > wide + 1 && getComputedStyle(each).clipPath === "none"
      && each.closest("thead") === null).map(each => each.tagName + "." + each.className);
  const text = [...page.body.querySelectorAll(".chip, p, li, td, h1, h2")]
    .filter(each => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflow !== "visible")
    .map(each => each.textContent);
  const seen = {{wide: wide, scrolls: page.documentElement.scrollWidth, out: out, clipped: text,
    title: page.title, rows: page.querySelectorAll("tbody tr").length}};
  document.body.innerHTML = "<pre id=seen></pre>";
  document.getElementById("seen").textContent = JSON.stringify(seen);
}};
</script>"""


def browser() -> str:
    """Return the browser's program; fails the test where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.fail("no browser: install Debian's package chromium")
    return found


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve a folder, and note what is asked for: the address, and the paths."""
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            asked.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def opened(folder: Path, address: str, *options: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [
            *(browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *("--enable-logging=stderr", "--virtual-time-budget=5000", f"--user-data-dir={folder / 'profile'}"),
            *(*options, address),
        ],
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "CONSOLE" not in done.stderr, [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done


def measured(folder: Path, width: int) -> dict[str, Any]:
    (folder / "frame.html").write_text(HARNESS.format(width=width))
    with served(folder) as (address, asked):
        done = opened(folder, f"{address}/frame.html", "--dump-dom", "--window-size=1600,1000")
    found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, flags=re.DOTALL)
    assert found is not None, done.stdout[-2000:]
    seen: dict[str, Any] = json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    return {**seen, "fetched": [path for path in asked if path not in ("/frame.html", "/page.html")]}


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("baskets", [SHOP, LONG, []], ids=["shop", "long names", "nothing"])
def test_a_page_fits_every_screen(baskets: list[list[str]], width: int, tmp_path: Path) -> None:
    release = fim.mine(baskets, size=2, top=3, rules=True, epsilon=5, seed=1)
    fim.report(release, tmp_path / "page.html")
    seen = measured(tmp_path, width)
    assert seen["title"] == "What is bought together"
    assert seen["scrolls"] <= seen["wide"]
    assert (seen["out"], seen["clipped"], seen["fetched"]) == ([], [], [])
    assert seen["rows"] == len(release) + len(release.rules())


def test_the_harness_sees_what_sticks_out(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<title>x</title><body><p style='width:900px'>wide</p><img src='a.png'>")
    seen = measured(tmp_path, 360)
    assert seen["scrolls"] > seen["wide"]
    assert seen["out"] == ["P."]
    assert {*seen["fetched"]} == {"/a.png"}


@pytest.mark.parametrize(
    "baskets", [SHOP, LONG, [["<b>", "a & b", "\x1b]]>"]] * 400], ids=["shop", "long names", "marks"]
)
def test_a_picture_is_whole_and_its_texts_stay_inside(baskets: list[list[str]], tmp_path: Path) -> None:
    release = fim.mine(baskets, size=2, top=3, supports=True, epsilon=5, seed=1)
    release.save(tmp_path / "bars.svg")
    (tmp_path / "page.html").write_text("<title>bars</title><body style='margin:0'>" + release.to_svg())
    seen = measured(tmp_path, 900)
    assert seen["scrolls"] <= seen["wide"]
    assert (seen["out"], seen["fetched"]) == ([], [])
    shown = opened(tmp_path, (tmp_path / "bars.svg").as_uri(), "--dump-dom").stdout
    assert "This page contains the following errors" not in shown
    assert shown.rstrip().endswith("</svg>")
