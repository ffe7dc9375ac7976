"""The page of a release in a real browser, Debian's chromium: on a phone, on screens, in print."""

import base64
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from fcntl import F_DUPFD, fcntl
from itertools import product
from pathlib import Path
from threading import Timer
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from patience import PATIENCE

import fim_private as fim
from fim_private.release.page import changes_page

pytestmark = pytest.mark.full
_SWITCHES = (
    "headless no-sandbox disable-gpu disable-dev-shm-usage disable-quic no-first-run "
    "disable-background-networking disable-component-update disable-sync remote-debugging-pipe"
)
_OPTIONS = [f"--{switch}" for switch in _SWITCHES.split()]
# What sticks out of the page or of its box, text that is too small or stands out too little from
# its ground, and words on two lines that fit on one.
_MEASURE = """(() => {
  const wide = document.documentElement.clientWidth, out = [], clipped = [], small = [], pale = [], broken = [];
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [[r, .2126], [g, .7152], [b, .0722]].reduce((sum, [part, weight]) => {
    const x = part / 255;
    return sum + weight * (x <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
  }, 0);
  const ground = element => {
    for (let each = element; each; each = each.parentElement) {
      const colour = parts(getComputedStyle(each).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const name = each => `${each.tagName}.${each.className}: ${each.textContent.trim().slice(0, 40)}`;
  let texts = 0;
  for (const each of document.body.querySelectorAll("*")) {
    const style = getComputedStyle(each), box = each.getBoundingClientRect();
    if (!each.checkVisibility({visibilityProperty: true}) || style.clipPath !== "none") continue;
    if (each.closest("thead") && getComputedStyle(each.closest("thead")).clipPath !== "none") continue;
    const picture = each.parentElement.closest("svg")?.getBoundingClientRect();
    const [left, right] = picture ? [picture.left, picture.right] : [0, wide];
    if (!each.matches(".scrolls > *") && box.width && (box.right > right + 1 || box.left < left - 1)) out.push(name(each));
    if (style.overflowX !== "auto" && !picture && each.scrollWidth > each.clientWidth + 1 && each.clientWidth) clipped.push(name(each));
    if (![...each.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
    texts += 1;
    for (const node of [...each.childNodes].filter(node => node.nodeType === 3)) {
      for (const word of node.data.matchAll(/[^\\s\\-–\u200b]{1,20}(?=[\\s\\-–]|$)/g)) {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const tops = [...range.getClientRects()].map(line => line.top);
        const starts = word.index === 0 || /[\\s\\-–]/.test(node.data[word.index - 1]);
        if (starts && Math.max(...tops) - Math.min(...tops) > 4) broken.push(word[0]);
      }
    }
    const size = parseFloat(style.fontSize) * (each.getScreenCTM?.().a ?? 1);
    if (size < 12) small.push(`${name(each)} ${size}px`);
    const [low, high] = [luminance(parts(each.tagName === "text" ? style.fill : style.color)), luminance(ground(each))].sort((a, b) => a - b);
    if ((high + .05) / (low + .05) < 4.5) pale.push(`${name(each)} ${style.color}`);
  }
  return {scrolls: document.documentElement.scrollWidth - wide, out, clipped, small, pale, broken, texts};
})()"""  # noqa: E501
GOOD = {"scrolls": 0, "out": [], "clipped": [], "small": [], "pale": [], "broken": []}
SIZES = (390, 1024, 1920)  # a phone, a tablet, a screen
UNFOLD = "document.querySelectorAll('details').forEach(each => { each.open = true; })"


class Browser:
    """One tab of a browser. events: what it told while a page was loaded."""

    def __init__(self, folder: Path) -> None:
        named = ("chromium", "chromium-browser", "google-chrome")
        program = next(filter(None, map(shutil.which, named)), None)
        if program is None:
            pytest.fail("no browser: install Debian's package chromium")
        # The browser reads commands at 3 and writes answers at 4.
        (theirs_in, self._to), (self._from, theirs_out) = os.pipe(), os.pipe()
        ends = [fcntl(end, F_DUPFD, 10) for end in (theirs_in, theirs_out)]
        self._process = subprocess.Popen(
            [program, *_OPTIONS, f"--user-data-dir={folder}", "about:blank"],
            preexec_fn=lambda: [os.dup2(end, 3 + place) for place, end in enumerate(ends)] and None,
            pass_fds=(3, 4),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (theirs_in, theirs_out, *ends):
            os.close(end)
        self._limit = Timer(PATIENCE, self._process.kill)
        self._limit.start()
        self._read, self._sent = b"", 0
        self._session: dict[str, str] = {}
        self.events: list[dict[str, Any]] = []
        tab = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=tab, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol, and return its answer."""
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": parameters, **self._session}
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._sent:
                assert "error" not in answer, answer
                found: dict[str, Any] = answer["result"]
                return found
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            more = os.read(self._from, 1 << 16)
            assert more, "the browser ended"
            self._read += more
        one, _, self._read = self._read.partition(b"\0")
        message: dict[str, Any] = json.loads(one)
        return message

    def show(
        self, address: str, width: int, *, scheme: str = "light", media: str = "screen"
    ) -> None:
        """Load a page in a window of that width."""
        shape = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.call("Emulation.setDeviceMetricsOverride", **shape)
        dark = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", media=media, features=[dark])
        self.events = []
        self.call("Page.navigate", url=address)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def run(self, script: str, *, wait: bool = False) -> Any:
        """Return what a script has for a value, or promises to have."""
        asked = {"expression": script, "returnByValue": True, "awaitPromise": wait}
        done = self.call("Runtime.evaluate", **asked)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    @property
    def fetched(self) -> list[str]:
        """What was fetched beside the page, and the icon, which is empty."""
        sent = [e["params"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        addresses = [each["request"]["url"] for each in sent[1:]]
        return [address for address in addresses if address != "data:,"]

    @property
    def complaints(self) -> list[Any]:
        """Errors and warnings, of which a script that the page's policy forbids is one."""
        wrong = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [each["params"] for each in self.events if each["method"] in wrong]

    def close(self) -> None:
        """End the browser."""
        self._session = {}
        try:
            self.call("Browser.close")
        finally:
            self._process.wait(PATIENCE)
            self._limit.cancel()
            os.close(self._to)
            os.close(self._from)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


BUTTER = "salted butter"
SHOP = [["wholemeal bread, sliced", BUTTER, "jam"]] * 300 + [[BUTTER, "brown rice"]] * 400
MANY = [[f"item {n % 40}", f"also {n % 40}"] for n in range(8000)]
DANUBE = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
LONG = [[DANUBE, "x" * 90]] * 400
MARKS = [["<b>bold</b>", "a & b", "\x1b]]>", "שלום עולם"]] * 400 + [["\u202eevil", " "]] * 500
SALES = [
    {"land": land, "id": f"{land}{n}", "item": item}
    for land in "AB"
    for n in range(400)
    for item in ("tea", "jam")
]
RULES: dict[str, Any] = {"size": "1-2", "rules": True}
OF_LANDS: dict[str, Any] = {"by": "land", "segments": "A,B", "basket": "id", "item": "item"}
CUSTOMERS = [
    {"who": n // 2, "order": n, "item": item}
    for n in range(4000)
    for item in ("tea bags", "semi-skimmed milk", f"bananas, {n % 3} of a kind")
]
BY_CUSTOMER: dict[str, Any] = {"user": "who", "basket": "order", "item": "item"}
FIFTY = [f"SET OF {n} WOODEN {kind} LIGHT HOLDERS" for n in range(25) for kind in ("STAR", "HEART")]
# Each goes with the next of the fifty in more baskets than with others.
PAIRS = [[FIFTY[n % 50], FIFTY[(n + 1) % 50], FIFTY[n * 7 % 50]] for n in range(20_000)]
PAGES: dict[str, tuple[Any, dict[str, Any]]] = {
    "rules": (SHOP, {"size": "1-3", "rules": True}),
    "many": (MANY, RULES | {"top": 80}),
    "long names": (LONG, RULES),
    "marks": (MARKS, RULES),
    "no supports": (SHOP, {"supports": False}),
    "nothing": ([], {"rules": True}),
    "customers": (pa.Table.from_pylist(CUSTOMERS), RULES | BY_CUSTOMER),
    "fifty": (PAIRS, {"rules": True, "top": 50}),
    "partners": (SHOP, {"rules": True, "with_items": [BUTTER]}),
    "segments": (pa.Table.from_pylist(SALES), RULES | OF_LANDS),
}


# Pages of several releases.
SEVERAL = ("trend", "changes")


def written(name: str, folder: Path) -> str:
    """Write a page, and return its address."""
    path = folder / "page.html"
    if name in SEVERAL:
        ones = [fim.mine(MARKS + LONG * n, size=2, top=9, epsilon=9, seed=n) for n in (1, 2, 4)]
        fim.report(ones, path)
        if name == "changes":
            made = changes_page(fim.changes(ones[0], ones[-1], keep_all=True))
            path.write_text(made, encoding="utf-8")
        return path.as_uri()
    data, asked = PAGES[name]
    release = fim.mine(data, **{"size": 2, "top": 9, "epsilon": 9, "seed": 1, **asked})
    title = "A title that is rather long for a page of this kind, as titles are " * 2
    fim.report(release, path, title=title if name == "long names" else None)
    return path.as_uri()


@pytest.mark.parametrize("name", [*PAGES, *SEVERAL])
@pytest.mark.every_case
def test_a_page_looks_right_everywhere(name: str, browser: Browser, tmp_path: Path) -> None:
    """Nothing sticks out or is cut off, no text is below 12 px, contrast is 4.5 (WCAG 2.2, AA)."""
    address = written(name, tmp_path)
    for width, scheme in product(SIZES, ("light", "dark")):
        browser.show(address, width, scheme=scheme)
        browser.run(UNFOLD)
        seen = browser.run(_MEASURE)
        assert seen.pop("texts") > 20
        assert (width, scheme, seen) == (width, scheme, GOOD)
        assert (browser.fetched, browser.complaints) == ([], [])


@pytest.mark.parametrize("name", [*PAGES, *SEVERAL])
@pytest.mark.every_case
def test_print_has_all_of_a_page_on_white(name: str, browser: Browser, tmp_path: Path) -> None:
    address, white = written(name, tmp_path), "rgb(255, 255, 255)"
    for width in (700, 1024):  # of A4 and above
        browser.show(address, width, scheme="dark", media="print")
        seen = browser.run(_MEASURE)
        assert seen.pop("texts") > 20
        assert seen == GOOD
        assert browser.run("getComputedStyle(document.body).backgroundColor") == white
        folded = "[...document.querySelectorAll('details td:not(.arrow), details p')]"
        assert browser.run(f"{folded}.filter(each => !each.checkVisibility()).length") == 0
        assert browser.run("document.querySelector('.tools')?.checkVisibility() ?? false") is False


def test_fifty_pairs_with_rules_print_on_six_pages(browser: Browser, tmp_path: Path) -> None:
    """Its tables have their headings on each page, and no row is cut."""
    browser.show(written("fifty", tmp_path), 703, media="print")
    shown = "[...document.querySelectorAll('.list tbody tr')].filter(row => row.checkVisibility())"
    assert browser.run(f"{shown}.length") == 100
    for script, expected in (
        ("getComputedStyle(document.querySelector('thead')).display", "table-header-group"),
        ("getComputedStyle(document.querySelector('thead button')).display", "none"),
        (f"{shown}.every(row => getComputedStyle(row).breakInside === 'avoid')", True),
    ):
        assert browser.run(script) == expected
    printed = browser.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
    pages = re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed["data"]))
    assert 3 < len(pages) <= 6


def test_an_item_is_chosen_and_the_address_keeps_it(browser: Browser, tmp_path: Path) -> None:
    address = written("fifty", tmp_path)
    item, visible = FIFTY[4], "filter(row => row.checkVisibility()).length"
    others = (
        "[...document.querySelectorAll('.list tbody tr, .card')].filter(row => "
        "row.checkVisibility() && ![...row.querySelectorAll('.chip')].some("
        f"chip => chip.textContent === '{item}')).length"
    )
    hidden = f"[...document.querySelectorAll('.lead, .picture')].{visible}"
    browser.show(address, 1024)
    assert browser.run(hidden) == 2
    everything = browser.run(f"[...document.querySelectorAll('.list tbody tr')].{visible}")
    browser.run(f"choice.value = '{item}'; choice.dispatchEvent(new Event('change'))")
    hash_now = f"#item={quote(item)}"
    assert browser.run("location.hash") == hash_now
    for shown_anew in (False, True):
        if shown_anew:
            browser.show("about:blank", 1024)
            browser.show(f"{address}#item={item}", 1024)
        else:
            browser.run("new Promise(done => setTimeout(done))", wait=True)
        rows = browser.run(f"[...document.querySelectorAll('.list tbody tr')].{visible}")
        assert 0 < rows < everything
        assert (browser.run(others), browser.run(hidden)) == (0, 0)
        assert browser.run("document.querySelector('#choice').value") == item
        heads = f"[...document.querySelectorAll('thead')].{visible.replace('row', 'head')}"
        tables = "[...document.querySelectorAll('table:not(.officer)')].filter(table => ["
        tables += "...table.tBodies[0].rows].some(row => row.checkVisibility())).length"
        assert browser.run(heads) == browser.run(tables)
        assert (browser.fetched, browser.complaints) == ([], [])
    browser.run("document.querySelector('.tools button').click()")
    assert (browser.run(hidden), browser.run("location.hash")) == (2, "#all")
    for wrong in ("#item=%E0%A4%A", "#item=nothing", "#item="):
        browser.show("about:blank", 1024)
        browser.show(address + wrong, 1024)
        assert browser.complaints == []


def test_charts_of_a_trend_have_one_scale_unless_asked(browser: Browser, tmp_path: Path) -> None:
    browser.show(written("trend", tmp_path), 1024)
    tops = "[...document.querySelectorAll('.scale')].map(scale => scale.innerText.split('%')[0])"
    assert len({*browser.run(tops)}) == 1
    browser.run("document.querySelector('#own-scales').click()")
    browser.run(UNFOLD)
    assert len({*browser.run(tops)}) > 1


def test_rows_are_found_and_sorted(browser: Browser, tmp_path: Path) -> None:
    browser.show(written("many", tmp_path), 1024)
    rows = "[...document.querySelector('.rules').closest('.list').querySelectorAll('tbody tr')]"
    assert browser.run(f"{rows}.length") > 20
    lifts = f"{rows}.map(row => Number(row.querySelector('.lift').dataset.value))"
    button = "[...document.querySelectorAll('.rules th.lift button')][0]"
    assert browser.run(f"{button}.textContent") == "Times as often as by chance"
    browser.run(f"{button}.click()")
    falling = browser.run(lifts)
    assert falling == sorted(falling, reverse=True)
    assert browser.run(f"{button}.closest('th').getAttribute('aria-sort')") == "descending"
    browser.run(f"{button}.click()")
    assert browser.run(lifts) == falling[::-1]
    # the others are folded
    assert browser.run("document.querySelector('.rules tbody').rows.length") == 20

    def search(words: str) -> tuple[int, str]:
        browser.run(
            f"search = document.querySelector('#search'); search.value = {json.dumps(words)};"
            "search.dispatchEvent(new Event('input'))"
        )
        visible = (
            "[...document.querySelectorAll('.list tbody tr')].filter(row => "
            "row.checkVisibility()).length"
        )
        return browser.run(visible), browser.run(
            "document.querySelector('[role=status]').textContent"
        )

    some, status = search("ALSO  8")
    assert status == f"{some} of 160 rows"
    assert 0 < some < 40
    assert search("<b>")[0] == 0
    assert search("")[1] == ""


def test_a_page_reads_without_its_script(browser: Browser, tmp_path: Path) -> None:
    address = written("many", tmp_path)
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.show(address, 390)
        assert browser.run("document.querySelectorAll('.tools, thead button').length") == 0
        for script in ("0", UNFOLD):
            browser.run(script)
            assert browser.run(_MEASURE) | {"texts": 0} == GOOD | {"texts": 0}
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_what_is_wrong_is_seen(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        "<title>x</title><body><p style='width:1200px'>wide</p><p style='font-size:11px'>small</p>"
        "<p style='color:#999'>pale</p><p "
        "style='width:50px;overflow:hidden;white-space:nowrap'>cut off here</p>"
        "<p style='width:40px;overflow-wrap:anywhere'>customers</p>"
        "<img src='a.png'><script>throw 1</script>"
    )
    browser.show((tmp_path / "page.html").as_uri(), 1024)
    seen = browser.run(_MEASURE)
    assert seen["scrolls"] > 0
    assert [seen[name] for name in ("out", "small", "pale", "clipped", "broken")] == [
        ["P.: wide"],
        ["P.: small 11px"],
        ["P.: pale rgb(153, 153, 153)"],
        ["P.: cut off here"],
        ["customers"],
    ]
    assert [address.rsplit("/", 1)[1] for address in browser.fetched] == ["a.png"]
    assert browser.complaints


@pytest.mark.parametrize("name", ["rules", "long names", "marks"])
def test_a_picture_is_whole_and_its_texts_stay_inside(
    name: str, browser: Browser, tmp_path: Path
) -> None:
    release = fim.mine(PAGES[name][0], size=2, top=3, supports=True, epsilon=5, seed=1)
    bars, page = tmp_path / "bars.svg", tmp_path / "page.html"
    release.save(bars)
    page.write_text(f"<title>bars</title><body style='margin:0'>{release.to_svg()}")
    browser.show(page.as_uri(), 900)
    seen = browser.run(_MEASURE)
    assert (seen["scrolls"], seen["out"], browser.fetched) == (0, [], [])
    browser.show(bars.as_uri(), 900)
    assert browser.run("document.documentElement.tagName") == "svg"
    assert browser.run("document.querySelector('parsererror')") is None
