"""The pages of benchmarks say what the tables in docs/data say: their numbers, and their words."""

import csv
import re
import shutil
from pathlib import Path

import pytest
from real_data import REPOSITORY

from benchmarks.frame import published
from benchmarks.frame.figures import FIGURES, draw_figures
from benchmarks.frame.published import Row, file_names, filled, publish, read_rows
from benchmarks.frame.study import Section
from benchmarks.frame.tables import Table

DOCS = REPOSITORY / "docs"
DATA = DOCS / "data"
PAGES = sorted(path.name for path in published.TEMPLATES.glob("*.md"))


def rows(name: str, **conditions: str) -> list[Row]:
    """The rows that meet the conditions, of which there has to be one."""
    chosen = [
        row
        for row in read_rows(DATA, name)
        if all(row[column.replace("_", " ")] == value for column, value in conditions.items())
    ]
    assert chosen, f"{name} has no row with {conditions}"
    return chosen


def share(row: Row, column: str) -> float:
    return float(row[column])


@pytest.mark.every_case
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_its_template_filled_in_from_the_tables(page: str) -> None:
    template = (published.TEMPLATES / page).read_text(encoding="utf-8")
    text = (DOCS / page).read_text(encoding="utf-8")
    assert text == filled(template, DATA), "python -m benchmarks.page --from-tables"
    assert "{{" not in text
    assert len(text.encode()) <= 15_000
    for heading in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        assert "](data/" in heading or "How it counts" in heading, heading


def test_every_figure_is_shown_and_drawn_from_its_tables(tmp_path: Path) -> None:
    pages = [*DOCS.glob("*.md"), REPOSITORY / "README.md"]
    shown = set(re.findall(r"figures/(\w+)\.", "".join(path.read_text() for path in pages)))
    files = {path.stem for path in (DOCS / "figures").glob("*.[sp][vn]g")}
    assert files == shown >= FIGURES.keys()
    pytest.importorskip("matplotlib")
    shutil.copytree(DATA, tmp_path / "data")
    draw_figures(tmp_path)
    for name in FIGURES:
        texts = [
            re.findall("<text[^>]*>([^<]*)<", (folder / "figures" / f"{name}.svg").read_text())
            for folder in (DOCS, tmp_path)
        ]
        assert texts[0] == texts[1], "python -m benchmarks.page --from-tables"


def test_every_table_is_named_in_the_index() -> None:
    sections = read_rows(DATA, published.SECTIONS)
    named = [name for row in sections for name in row["tables"].split()]
    files = {path.stem for path in DATA.glob("*.csv")} - {published.STUDIES, published.SECTIONS}
    assert sorted(named) == sorted(files)
    index = (DATA / "index.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", index):
        assert (DATA / target).is_file(), target
    assert all(f"({name}.csv)" in index for name in named)
    for path in DATA.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as stream:
            header, *cells = csv.reader(stream)
        assert cells, path.name
        assert {len(row) for row in cells} == {len(header)}, path.name


# -------------------- the words of benchmarks.md


def test_levelwise_misses_least_of_many_itemsets() -> None:
    for row in rows("utility_which_wins_where_2", ε="1"):
        ours = share(row, "ours, without the items")
        if row["k"] == "1":
            assert row["which of ours"] == "limited-domain"
            continue
        assert row["which of ours"] == "levelwise"
        peers = ("stability histogram (OpenDP)", "PrivBasis, zCDP", "exponential")
        assert ours < min(share(row, peer) for peer in peers)
    for row in rows("utility_levelwise_against_each_of_the_others"):
        assert sum(int(row[name]) for name in ("misses less", "as much", "misses more")) == 112


def test_where_nearly_all_is_missed_most_are_halves_of_shops() -> None:
    missed = rows("customers_where_nearly_all_is_missed", the_tool="fim-private")
    assert all(share(row, "FNR") >= 0.9 for row in missed)
    assert sum(row["customers"] == "halves" for row in missed) > len(missed) / 2


def test_a_small_shop_needs_thousands_of_customers() -> None:
    shops = rows("small_shops_which_mechanism_by_the_number_of_customers", size="2", list="no")
    missed = {int(row["customers"]): share(row, "with --units") for row in shops}
    assert missed[1_000] > 0.5 > missed[4_000]


def test_in_small_shops_auto_misses_less_than_either_mechanism() -> None:
    shops = rows("small_shops_which_mechanism_by_the_number_of_customers")
    for row in shops:
        assert share(row, "fim-private") < min(share(row, "levelwise"), share(row, "one by one"))
    assert sum(int(row["far"].partition(" of ")[2]) for row in shops) == 1_350


def test_forecasts_are_near_for_the_data_sets_that_they_know() -> None:
    for row in rows("forecasts_how_good_they_are_2", data_sets="known"):
        assert share(row, "near") > 0.9
    told = {(row["data sets"], row["list"]): row for row in rows("forecasts_how_good_they_are")}
    text = " ".join((DOCS / "expect.md").read_text(encoding="utf-8").split())
    quoted = (("known", "no", ""), ("known", "yes", ""), ("others", "no", ""))
    for group, listed, told_more in (*quoted, ("others", "no", ", told more")):
        shares = [share(told[group, listed], name + told_more) for name in ("near", "apart")]
        near, apart = (f"{100 * quoted_share:.0f}" for quoted_share in shares)
        assert f"| {near} % | {apart} |" in text
    worst = min(rows("forecasts_by_data_set"), key=lambda row: share(row, "near"))
    assert worst["data set"] == "t10i4d100k"


def test_more_baskets_bring_more_and_few_are_the_histograms() -> None:
    levelwise, exponential, histogram = rows("growth_more_baskets", data_set="retail", k="100")
    points = [float(value) for column, value in levelwise.items() if column.startswith("×")]
    assert points == sorted(points, reverse=True)
    for column in ("× 0.0625", "× 0.25"):
        assert share(histogram, column) < share(levelwise, column)
    for column in ("× 1", "× 4"):
        assert share(levelwise, column) < min(share(exponential, column), share(histogram, column))


def test_intervals_hold_and_are_narrower() -> None:
    supports = rows("intervals_supports_that_draw_on_each_other")
    assert min(share(row, "coverage") for row in supports) > 0.95
    widths = [share(row, "half width") for row in supports if row["neighbours"] == "add-remove"]
    assert max(widths) < 0.81
    assert min(widths) < 3 / 5
    assert min(share(row, "lift") for row in rows("intervals_intervals_of_rules")) > 0.945


def test_sure_itemsets_are_right_and_partners_are_found() -> None:
    sure = rows("marks_itemsets_whose_rank_is_said_to_be_sure")
    assert min(share(row, "right") for row in sure) > 0.95
    assert {row["low"] for row in sure} == {"0"}
    for row in rows("partners_what_goes_with_one_item"):
        assert share(row, "with the item") < share(row, "top 100 pairs")


def test_a_known_release_helps_and_few_claims_are_wrong() -> None:
    for row in rows("periods_what_the_last_release_adds"):
        gain = share(row, "FNR, knows nothing") - share(row, "FNR, knows the last release")
        if row["unit"] == "basket":
            assert gain >= 0
        elif row["shop"] == "complete_journey":
            assert gain > 0.1
        else:
            assert abs(gain) < 0.03
    changes = rows("periods_whether_what_is_said_to_have_changed_has")
    claimed, wrong = (sum(int(row[name]) for row in changes) for name in ("claimed", "wrong"))
    assert wrong / claimed < 0.05
    assert any(int(row["wrong"]) > 0.05 * int(row["claimed"]) for row in changes)


def test_privbasis_wins_without_delta_and_on_dense_data() -> None:
    for row in rows("privbasis_who_misses_less_2"):
        pure, ours = share(row, "PrivBasis, pure, δ = 0"), share(row, "permute-and-flip, δ = 0")
        assert ours > 1.5 * pure
    [dense] = rows("privbasis_who_misses_less_2", mean_FNR_over_ε="mushroom, k = 50")
    levelwise = share(dense, "levelwise, catalogue, δ = 1e-06")
    assert share(dense, "PrivBasis, pure, δ = 0") < levelwise


def test_every_claim_that_could_be_checked_is_confirmed() -> None:
    verdicts = {row["claim"]: row["found"] for row in rows("paper_claims")}
    others = [claim for claim, found in verdicts.items() if not found.startswith("Confirmed")]
    assert [claim[:9] for claim in others] == ["Theorem 2", "(not clai"]
    assert "NOT" not in "".join(verdicts.values())
    for row in rows("corollary1_where_the_two_cross"):
        assert not row["ln K measured"] or float(row["ln K measured"]) > 200


def test_spark_and_the_database_cost_more_than_the_local_kernel() -> None:
    for name in ("spark_scale_seconds", "warehouse_seconds_memory_and_disk"):
        ways = rows(name, baskets="10000000")
        assert ways[0]["way"] == "local kernel"
        assert all(share(row, "times the local kernel") > 1 for row in ways[1:])
    [release] = rows("warehouse_seconds_memory_and_disk", baskets="1000000", way="DuckDB")
    assert share(release, "times the CPU of the self-join") <= 1
    [release] = rows("warehouse_seconds_memory_and_disk", baskets="10000000", way="DuckDB in 2 GB")
    assert share(release, "CPU seconds") <= 80
    assert share(release, "disk (MB)") <= 3000


def test_recconcave_is_the_best_nowhere_and_stability_beats_alphasplit() -> None:
    for row in rows("interior_point_values_needed_to_find_a_point_inside_in_95_of_runs"):
        bits = row.pop("bits")
        needed = {way: float(values) for way, values in row.items() if values}
        assert not min(needed, key=lambda way: needed[way]).startswith("RecConcave"), bits
    for row in rows("validation_the_papers_experiment"):
        assert "worse" not in row["Stability against alphaSplit"]
    for row in rows("learners_boxes", columns="4", rows="16000"):
        assert share(row, "share of runs with error ≤ 0.1") >= 0.95


# -------------------- the words of counting.md


def test_ours_counts_fastest_but_for_one_contest_with_rust() -> None:
    third = "top_1_000_threshold_given_to_peers_only"
    questions = ("all_nonzero_supports", "minimum_support", third)
    for question in questions:
        contests = rows(f"counting_{question}")
        assert len(contests) == 12
        assert min(share(row, "time ratio") for row in contests) > 1
    worse = rows("counting_rust_where_a_peer_is_better")
    assert [row["contest"] for row in worse] == ["retail, size 3, threshold"]
    more = rows("counting_where_a_peer_is_better", better_in="memory")
    dense = [row for row in more if row["contest"].startswith(("mushroom", "chess-like"))]
    assert len(dense) > len(more) / 2
    for size in ("2", "3"):
        growth = rows("counting_growth", size=size)
        for column in ("µs a basket", "peak (MB)"):
            per_basket = [share(row, column) for row in growth]
            if column == "peak (MB)":
                per_basket = [share(row, column) / int(row["baskets"]) for row in growth]
            assert per_basket == sorted(per_basket, reverse=True)


# -------------------- the maker of tables and pages


def test_tables_are_published_in_the_place_of_those_before(tmp_path: Path) -> None:
    about = {"study": "first", "question": "Who?"}
    table = Table(("way", "n|m"), (("local, 1", 12_345), ("other", None)))
    publish(tmp_path, about, [Section("δ: more", "Read.", (table, table))])
    publish(tmp_path, {"study": "second", "question": "What?"}, [Section("x", "y", (table,))])
    publish(tmp_path, about | {"question": "Who now?"}, [Section("Less", "Read.", (table,))])
    assert sorted(path.stem for path in tmp_path.glob("*_*.csv")) == ["first_less", "second_x"]
    assert (tmp_path / "first_less.csv").read_text() == 'way,n|m\n"local, 1",12345\nother,\n'
    assert [row["question"] for row in read_rows(tmp_path, "studies")] == ["Who now?", "What?"]
    named = ["first_price_of_deltas", "first_price_of_deltas_2"]
    assert file_names("first", "Price of δ's", 2) == named
    mark = "{{first_less | way==local, 1 | n|m}} {{most first_less | * | n|m | .0f}}"
    assert filled(mark, tmp_path) == "12,345 12345"
    with pytest.raises(ValueError, match="2 rows, not one"):
        filled("{{first_less | * | way}}", tmp_path)
