"""The page of a release: it shows what is released and nothing else, loads nothing."""

import base64
import datetime
import hashlib
import math
import re
from dataclasses import replace
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from released import HALF, SHOP, Markup, mined

import fim_private as fim
from fim_private.errors import OutputError, ParameterError
from fim_private.release import templates
from fim_private.release.page import _findings, changes_page, page, trend_page
from fim_private.release.rules import RuleChoice, rules_by_segment, rules_of

EVIL = [
    "<script>alert(1)</script>", '" onload="x', "a & b", "line\nbreak", "</style>", "\u202eevil",
    " ", "{{ 7 * 7 }}", "{% raw %}",
]  # fmt: skip


def read(release: fim.Release) -> Markup:
    return Markup(page(release, rules_by_segment(release) if release.with_parts else None))


@pytest.mark.parametrize(
    "asked",
    [
        {"rules": True},
        {"supports": True},
        {},
        {"mechanism": "large-margin", "top": 1},
        {"epsilon": 1e-4},
        {"min_support": 0.1, "top": None},
        {"neighbors": "replace-one", "rules": True},
        {"rho": 1, "epsilon": None, "supports": True},
        {"mechanism": "limited-domain", "max_basket": 2, "supports": True},
        {"mechanism": "exponential", "universe_size": 99},
    ],
    ids=str,
)
def test_every_release_has_its_page(asked: dict[str, Any]) -> None:
    release = mined(**asked)
    found = read(release)
    for one in release:
        for item in one.items or ():
            assert str(item) in found.text
        if one.support is not None:
            assert f"{one.support:,}" in found.text
    for heading in ("What this page promises", "For the privacy officer", "How to read it"):
        assert heading in found.text
    assert ("What was found" in found.text) == bool(release)
    assert ("Bought together more often than chance" in found.text) == (
        release.with_parts and bool(release)
    )
    assert "NOT PRIVATE" in found.text
    assert not {word for word in ("another", "selected by", "nobody known") if word in found.text}
    assert "nan" not in found.text.split()


def test_a_private_release_says_what_it_promises_in_words_and_exactly() -> None:
    release = fim.mine(SHOP, size=2, epsilon=1, neighbors="replace-one")
    found = read(release)
    assert "NOT PRIVATE" not in found.text
    assert release.guarantee in found.text
    assert "Suppose any one basket had contained anything else. Then the probability" in found.text
    assert "The number of baskets is released exactly." in found.text
    weak = read(fim.mine(SHOP, size=2, epsilon=9)).text
    assert "That is a weak promise to any one basket." in weak
    assert "So little" not in weak


def test_a_promise_says_whom_it_is_about() -> None:
    some: dict[str, Any] = {"basket": "b", "item": "i", "user": "u"}
    items = [(n, item) for n in range(900) for item in ("tea", "jam")]
    rows = [{"u": f"u{n}", "b": n, "i": item, "x": n % 2} for n, item in items]
    table = pa.Table.from_pylist(rows)
    with pytest.warns(fim.PrivacyWarning, match="does not hide which users"):
        found = read(fim.mine(table, **some, where="x = 1", neighbors="replace-one")).text
    suppose = "Suppose any one customer whose rows were read had bought anything else"
    assert f"{suppose}, and these rows had been read as well." in found
    assert "This page protects each customer, with all that they bought." in found
    assert "released exactly" not in found
    assert "those where x = 1" in found
    found = read(fim.mine(table, **some, neighbors="add-remove")).text
    assert "Suppose any one customer had not been in the data." in found
    assert "released exactly" not in found


def test_a_page_where_nothing_came_out_says_so_and_asks_for_nothing() -> None:
    nothing = mined(epsilon=0.01)
    assert not nothing
    found = read(nothing)
    assert "Nothing stood out from the noise. That is a valid answer, and its budget" in found.text
    assert "An empty page is a valid answer." in found.text
    few = mined(top=40, supports=True)
    for release in (nothing, few):
        assert release.advice is not None
        assert "fim.mine" not in read(release).text
        assert release.advice.explanation not in read(release).text


def test_what_is_missing_may_just_not_have_been_asked_for() -> None:
    missing = "Items that are not on this page may be bought{}, too: they were not asked for"
    assert missing.format(" together") in read(mined(top=1)).words
    assert missing.format("") in read(mined(size=1, top=1)).words


def test_a_page_of_segments_says_where_nothing_came_out() -> None:
    items = [(n, item) for n in range(900) for item in ("tea", "jam")]
    rows = [{"land": "France", "order": n, "item": item} for n, item in items]
    rows += [{"land": "Germany & Co", "order": -n, "item": "tea"} for n in range(1, 9)]
    lands: dict[str, Any] = {"by": "land", "segments": ["France", "Germany & Co"]}
    lands |= {"basket": "order", "item": "item"}
    content = page(fim.mine(pa.Table.from_pylist(rows), **lands, top=1, supports=False))
    found = Markup(content)
    assert '<p class="nothing">Nothing stood out from the noise for Germany &amp' in content
    assert "fim.mine" not in found.text
    assert "900" not in found.text  # how many there are is private


def test_a_page_of_segments_has_a_picture_of_each_that_has_findings() -> None:
    rows = [(shop, basket) for shop in ("north", "south") for basket in HALF]
    table = pa.table({"items": [basket for _, basket in rows], "shop": [shop for shop, _ in rows]})
    segments = ["north", "south", "west"]
    release = fim.mine(table, by="shop", segments=segments, rules=True, top=3, epsilon=9, seed=1)
    markup = Markup(page(release, rules_by_segment(release)))
    figures = [tag for tag, attributes in markup.tags if attributes.get("class") == "picture"]
    assert figures == ["figure"] * 2


def test_the_head_has_title_date_and_data_set(tmp_path: Path) -> None:
    ledger = fim.Ledger.create(tmp_path / "sales.ledger", epsilon=3, delta=1e-5)
    today = datetime.date.today()
    release = fim.mine(SHOP, ledger=ledger, dataset="Corner shop")
    assert release.date in (today, datetime.date.today())
    release = replace(release, date=datetime.date(2026, 2, 3))
    release.save(tmp_path / "r.json")
    for one in (release, fim.load(tmp_path / "r.json")):
        content = page(one, title="Spring & summer")
        assert "<title>Spring &amp; summer</title>" in content
        head = Markup(content).words.partition("What was found")[0]
        assert re.search(
            r"Spring & summer Baskets about 1,\d{3} Period all dates in the data", head
        )
        assert "Data Corner shop Released on 3 February 2026" in head
    assert Markup(page(release)).words.startswith("What is bought together What is bought together")
    assert mined().date is None  # a seeded one is the same on any day
    assert "Released on" not in read(mined()).text


def lead(release: Any, **limits: Any) -> str:
    rules = rules_by_segment(release, RuleChoice(**limits)) if release.with_parts else None
    [found] = re.findall('<p class="lead">(.*?)</p>', page(release, rules))
    return unescape(re.sub("<.*?>", "", found))


def test_the_first_paragraph_claims_what_is_sure() -> None:
    """Of A: B in 600, C and D by chance. Everything that it says stands in the release."""
    release = fim.mine(HALF, size=2, top=2, rules=True, epsilon=9, seed=1)
    said = re.fullmatch(
        r"Of all baskets with (\w), about (\d+) % have (\w) too: "
        r"(.*) times as often as by chance\. "
        r"1 of 2 findings is clearly above chance\.",
        lead(release),
    )
    assert said is not None, lead(release)
    first, confidence, second, lift = said.groups()
    assert {first, second} == {"a", "b"}
    frame = release.rules()
    rule = frame[(frame["antecedents"] == {first}) & (frame["consequents"] == {second})].iloc[0]
    assert float(confidence) == round(100 * rule["confidence"])
    assert 1 < rule["lift_lower"] <= rule["lift"] <= rule["lift_upper"]
    assert abs(float(lift) - rule["lift"]) < 0.01
    assert not rule["doubtful"]
    chance = fim.mine(HALF[600:], size=2, top=1, rules=True, epsilon=9, seed=1)
    assert rules_of(chance).doubtful.all() or not (rules_of(chance).columns["lift_lower"] > 1).any()
    assert lead(chance).startswith("None of the findings below is clearly above chance")


@pytest.mark.parametrize(
    ("lift", "lower", "doubtful", "verdict"),
    [
        (1.5, 1.01, False, "sure"),
        (0.5, 0.4, False, "less often"),
        (1.3, 0.8, True, "likely"),
        (1.1, 0.8, True, "may be noise"),
        (0.9, 0.5, True, "may be noise"),
        (math.inf, 0.0, True, "may be noise"),
        (1.5, 1.2, True, "likely"),  # a limit that was asked for is not sure
    ],
)
def test_a_finding_is_as_sure_as_its_interval(
    lift: float, lower: float, doubtful: bool, verdict: str
) -> None:
    """Likely: chance, which is 1, is nearer to the lower end of the interval than to the lift."""
    rules = rules_of(fim.mine(HALF, size=2, top=1, rules=True, epsilon=9, seed=1))
    changed = {"lift": np.full(len(rules), lift), "lift_lower": np.full(len(rules), lower)}
    columns = {**rules.columns, **changed}
    marks = np.full(len(rules), doubtful)
    [finding] = _findings(replace(rules, columns=columns, doubtful=marks))
    assert finding.verdict == verdict


def test_the_first_findings_are_cards_with_their_numbers_and_verdicts() -> None:
    release = fim.mine(HALF, size=2, top=2, rules=True, epsilon=9, seed=1)
    content = page(release, rules_by_segment(release))
    first, second = [
        Markup(card).words for card in re.findall("<li class=.card.*?</li>", content, re.S)
    ]
    said = re.fullmatch(
        r"a → b (\d+ %) of baskets with the first have the second too "
        r"(.*) times as often as by chance: sure ([\d.]+ %) of all baskets have both",
        first.replace("b → a", "a → b"),
    )
    assert said is not None, first
    numbers = [rules_of(release).shown(values) for _, _, values, _ in rules_of(release).rows()]
    texts = [(one["confidence"].shown, one["lift"].shown, one["share"].shown) for one in numbers]
    assert said.groups() in texts
    assert re.search("by chance: (likely|may be noise)", second)
    text = Markup(content).words
    assert "The surest come first." in text
    assert (
        "“Sure”: the whole 95 % interval is above 1.00 times, so noise is hardly the reason" in text
    )
    assert "Do not pass this page on if its data are real" in text
    kept = fim.mine(SHOP, size=2, top=2, rules=True, epsilon=1)
    assert (
        "This page is made to be passed on: it says little about any one basket" in read(kept).words
    )
    by_share = page(release, rules_by_segment(release, RuleChoice(sort="support")))
    assert "The largest support comes first." in by_share


def rows_of_alike(shops: int = 1) -> pa.Table:
    """Customers of a few shops who each buy 4 of 40 items."""
    chance = np.random.default_rng(5)
    bought = [*enumerate(chance.integers(0, 40, size=(6000, 4)).tolist())]
    return pa.Table.from_pylist(
        [
            {"who": f"u{n}", "order": n, "shop": f"s{n % shops}", "item": f"i{item}"}
            for n, basket in bought
            for item in basket
        ]
    )


BY_CUSTOMER: dict[str, Any] = {"user": "who", "basket": "order", "item": "item"}
FEW: Any = {"size": 2, "top": 5, "epsilon": 5, "delta": 1e-6, "seed": 1, "supports": True}


def test_a_page_of_segments_does_not_take_doubt_of_ranks_for_doubt_of_findings() -> None:
    """Some forty customers buy each pair, for sure; only which pairs are the first five is not."""
    shops: dict[str, Any] = {"by": "shop", "segments": ["s0", "s1"]}
    release = fim.mine(rows_of_alike(2), mechanism="levelwise", **FEW, **BY_CUSTOMER, **shops)
    marks = [itemset.doubtful for one in release.values() for itemset in one]
    assert len(marks) == 10
    assert all(marks)
    said = lead(release)
    assert re.match(
        r"In shop s[01]: About \d+ customers bought i\d+ and i\d+ in one basket", said
    ), said
    assert "The rank is sure for none of these itemsets" in said
    assert "None of" not in said
    assert "chance" not in said


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"supports": True}, r"About [\d,]+ baskets hold bread and butter together, .* of all"),
        (
            {"top": 1, "supports": False},
            r"Selected as the most frequent pair: bread and butter\. Its support",
        ),
        ({"supports": False}, r"Among the 3 most frequent pairs: .*|Selected as frequent: .*"),
        ({"epsilon": 1e-4}, r"Nothing stood out from the noise\. That is a valid answer"),
        ({"size": 1, "supports": True}, r"About [\d,]+ baskets hold bread, .* of all \(95 %"),
    ],
    ids=str,
)
def test_the_first_paragraph_without_rules(asked: dict[str, Any], words: str) -> None:
    assert re.match(words, lead(mined(**asked)))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"mechanism": "limited-domain", "top": 2}, "customers more than one that was chosen."),
        ({"min_support": 0.1, "top": None}, "Of itemsets below 10 % of all customers"),
        ({"top": 20}, "customers with many items buy much the same ones as customers with few"),
        ({"rules": True}, "counts all customers who ever bought all of it"),
    ],
    ids=str,
)
def test_a_page_and_a_picture_of_users_speak_of_customers(
    asked: dict[str, Any], words: str
) -> None:
    baskets = pa.table({"items": SHOP, "who": [*range(len(SHOP))]})
    release = fim.mine(baskets, user="who", size=2, epsilon=5, seed=1, **asked)
    assert isinstance(release, fim.Release)
    everyday, _ = read(release).words.split("For the privacy officer")
    assert words in everyday
    assert "user" not in everyday
    assert words in Markup(release.to_svg()).words


def test_nothing_is_loaded_and_only_its_own_script_runs() -> None:
    release = mined(rules=True)
    content = page(release, rules_by_segment(release))
    found = Markup(content)
    assert not {tag for tag, _ in found.tags} & {
        "iframe", "object", "embed", "img", "form", "base",
    }  # fmt: skip
    assert all(str(given["href"]).startswith("#") for tag, given in found.tags if tag == "a")
    [policy] = [given["content"] for _, given in found.tags if "http-equiv" in given]
    [script] = re.findall("<script>(.*?)</script>", content, flags=re.DOTALL)
    assert script == Path(templates.__file__).with_name("page.js").read_text(encoding="utf-8")
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'; "
        "img-src data:"
    )
    assert not re.search("innerHTML|insertAdjacent|document.write|eval|fetch|import", script)
    content = content.replace(script, "")
    assert not re.search(r"https?:|url\(|@import|//", content)
    assert all(not name.startswith("on") for _, given in found.tags for name in given)


def hostile() -> list[str]:
    """Return pages in which everything that comes from outside looks like HTML."""
    name = "<b>\u202e\" onload='x"
    week = fim.mine([[*EVIL]] * 900, size=2, top=9, rules=True, epsilon=50, seed=1)
    release = replace(
        week,
        where=name,
        reason=name,
        date=datetime.date(2026, 2, 3),
        scope=replace(week.scope, period=name, item=(name,), basket=(name,), exclude=(name,)),
    )
    items = [(n, item) for n in range(300) for item in EVIL]
    rows = [
        {"<i>": land, "order": f"{land}{n}"} | {"item": i} for land in (name, "B") for n, i in items
    ]
    lands = pa.Table.from_pylist(rows)
    asked: dict[str, Any] = {"basket": "order", "item": "item", "size": 1, "top": 20, "seed": 1}
    by_land = fim.mine(lands, by="<i>", segments=[name, "B"], epsilon=50, **asked)
    by_name = {f"{name} {number}": week for number in range(3)}
    moved = replace(fim.changes(week, week, keep_all=True), names=(name, name))
    return [
        page(release, rules_by_segment(release), title=name),
        page(by_land),
        trend_page(by_name, title=name),
        changes_page(moved, title=name),
    ]


def test_whatever_comes_from_outside_is_text() -> None:
    for content in hostile():
        found = Markup(content)
        assert {"b", "i"}.isdisjoint(tag for tag, _ in found.tags)
        assert not [name for _, given in found.tags for name in given if name.startswith("on")]
        assert [tag for tag, _ in found.tags].count("script") == content.count("</script>") == 1
        assert content.count("</style>") == 1
        assert "\u202e" not in content
        assert "<b>\\u202e\" onload='x" in found.text
        assert "{{ 7 * 7 }}" in found.text
        assert "a & b" in found.text
        assert {name for _, given in found.tags for name in given} <= KNOWN | SVG


KNOWN = {
    "charset", "http-equiv", "content", "name", "rel", "href", "lang", "class", "style", "id",
    "role", "scope", "aria-labelledby", "aria-label", "aria-hidden", "title", "data-label",
    "data-value", "open", "type", "tabindex",
}  # fmt: skip
SVG = {
    "viewbox", "preserveaspectratio", "d", "points", "cx", "cy", "r", "x", "y", "width", "height",
    "stroke-width", "font-size", "text-anchor",
}  # fmt: skip


def test_headings_and_tables_can_be_heard() -> None:
    found = read(mined(rules=True))
    levels = [int(tag[1]) for tag, _ in found.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert all(deeper <= level + 1 for level, deeper in pairwise(levels))
    names = [given["id"] for _, given in found.tags if "id" in given]
    assert len({*names}) == len(names)
    assert [given["aria-labelledby"] for tag, given in found.tags if tag == "section"] == names
    assert [given["lang"] for tag, given in found.tags if tag == "html"] == ["en"]


def test_a_report_is_written_whole(tmp_path: Path) -> None:
    release = mined(rules=True)
    fim.report(release, tmp_path / "page.html", min_lift=1.2)
    assert Markup((tmp_path / "page.html").read_text(encoding="utf-8")).text
    for wrong in ("", "  ", 7):
        with pytest.raises(ParameterError, match="title must be a text that is not empty"):
            fim.report(release, tmp_path / "x.html", title=wrong)  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    release.save(tmp_path / "r.parquet")
    fim.report(fim.load(tmp_path / "r.parquet"), tmp_path / "again.html", min_lift=1.2)
    assert (tmp_path / "again.html").read_text() == (tmp_path / "page.html").read_text()
    with pytest.raises(ParameterError, match="a report is made of a Release, or of several in"):
        fim.report("r.parquet", tmp_path / "x.html")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="a report is written to the path of a file"):
        fim.report(release, [])  # type: ignore[arg-type]
    with pytest.raises(OutputError, match="does not exist"):
        fim.report(release, tmp_path / "no" / "page.html")
    kept = (tmp_path / "r.parquet").read_bytes()
    for name in ("r.parquet", "page.json"):
        with pytest.raises(OutputError, match="a page is HTML; choose a path that ends in "):
            fim.report(release, tmp_path / name)
    assert (tmp_path / "r.parquet").read_bytes() == kept
    assert not (tmp_path / "page.json").exists()
    with pytest.raises(ParameterError, match="min_lift must be"):
        fim.report(release, tmp_path / "x.html", min_lift=-1)
    assert not (tmp_path / "x.html").exists()


@pytest.mark.parametrize(
    "limits",
    [
        {"min_confidence": 0.1}, {"min_lift": 2}, {"antecedent": "tea"},
        {"consequent": ["bread", "tea"]}, {"contains": "tea"}, {"max_antecedent": 1},
        {"max_consequent": 2}, {"redundant": True}, {"sort": "lift"},
    ],
    ids=str,
)  # fmt: skip
def test_limits_of_rules_need_rules(limits: dict[str, Any], tmp_path: Path) -> None:
    (name,) = limits
    page_file = tmp_path / "x.html"
    fim.report(mined(rules=True), page_file, **limits)
    page_file.unlink()
    said = f"^leave out {name}: this release was mined without rules$"
    with pytest.raises(ParameterError, match=said):
        fim.report(mined(), page_file, **limits)
    with pytest.raises(ParameterError, match=f"^leave out {name}: the page of several releases"):
        fim.report([mined(rules=True)] * 2, page_file, **limits)
    assert not page_file.exists()
