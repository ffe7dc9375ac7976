"""The command line through real processes."""

import gzip
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import typer
from commands import plain_environment, refused, run, told
from patience import CAPTURED, PATIENCE

import fim_private as fim
from fim_private.cli.commands import app
from fim_private.counting import active_counter

VERSION = f"fim-private {fim.__version__} ({active_counter()} counter)\n"
SCRIPT = Path(sys.executable).with_name("fim-private")

LARGE_MARGIN = ["--mechanism", "large-margin"]
BASKETS = [[39, 48]] * 600 + [[39, 41]] * 60 + [[38, 48, 170]] * 10 + [[32]] * 5
TOP = [39, 48]
ALONE = ["--top", "1", "--no-supports"]


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the same baskets in every form, and with files that are wrong in every way."""
    folder = tmp_path_factory.mktemp("shop")
    dat = "".join(" ".join(map(str, basket)) + "\n" for basket in BASKETS)
    lines = dat.replace(" ", ",")
    orders = [f"o{number}" for number, basket in enumerate(BASKETS) for _ in basket]
    products = [item for basket in BASKETS for item in basket]
    long = "order_id,product,price\n"
    long += "".join(f"{order},{item},1.5\n" for order, item in zip(orders, products, strict=True))
    for name, text in {
        "baskets.dat": dat,
        "baskets.txt": dat,
        "lines.csv": lines,
        "long.csv": long,
        "long.tsv": long.replace(",", "\t"),
    }.items():
        (folder / name).write_text(text)
        (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    table = pa.table({"basket": range(len(BASKETS)), "items": BASKETS})
    pq.write_table(table, folder / "list.parquet")
    feather.write_feather(table, folder / "list.feather")
    pq.write_table(pa.table({"order_id": orders, "product": products}), folder / "long.parquet")
    pq.write_table(table.append_column("returned", table["items"]), folder / "two_lists.parquet")
    # Two customers to three baskets; the last fifteen baskets are nobody's.
    customers = [f"c{number * 2 // 3}" if number < 660 else "" for number in range(len(BASKETS))]
    with_customer = table.append_column("customer", pa.array(customers))
    pq.write_table(with_customer, folder / "customers.parquet")
    owners = [customer for customer, basket in zip(customers, BASKETS, strict=True) for _ in basket]
    with_owners = zip(owners, orders, products, strict=True)
    rows = "".join(f"{customer},{order},{product}\n" for customer, order, product in with_owners)
    (folder / "customers.csv").write_text("customer,order_id,product\n" + rows)
    words = [[f"item {item}" for item in basket] for basket in BASKETS]
    pq.write_table(pa.table({"items": words}), folder / "words.parquet")

    (folder / "little.dat").write_text("1 2 3\n2 1\n")
    (folder / "other.dat").write_text("7 8 9 10\n\n5 6\n5\n5 6 7 8\n" * 2)
    (folder / "catalogue.csv").write_text("item\n" + "".join(f"{item}\n" for item in range(1000)))

    whole = (folder / "list.parquet").read_bytes()
    (folder / "damaged.parquet").write_bytes(whole[:4] + bytes(len(whole) - 12) + whole[-8:])
    return folder


# A warning would be an error here, and show as a traceback.
environment = partial(plain_environment, PYTHONUTF8="1", PYTHONWARNINGS="error")


def answer(folder: Path, *arguments: str | Path, stdin: str = "") -> dict[str, Any]:
    """Run `mine … --format json`, which must go well, and return what it wrote."""
    line = told(run(folder, "mine", *arguments, "--format", "json", stdin=stdin))
    assert line.count("\n") == 1
    release: dict[str, Any] = json.loads(line)
    return release


def listing(*folders: Path) -> dict[Path, int]:
    return {path: path.stat().st_size for folder in folders for path in folder.rglob("*")}


def test_the_default_is_a_readable_table_with_the_guarantee(shop: Path) -> None:
    done = run(shop, "mine", "baskets.dat")
    assert (done.stderr, done.returncode) == ("", 0)
    lines = done.stdout.splitlines()
    assert lines[0] == "1 of the 10 most frequent pairs, by noisy support"
    assert "\nMechanism levelwise, chosen by --mechanism auto: it finds many " in done.stdout
    assert re.search(r"\{39, 48\} +│ +[0-9]+ │", done.stdout)
    guarantee = lines[-1]
    assert guarantee.startswith("Guarantee (levelwise, ε = 1, δ = 1e-06): adding or removing")
    assert "e^1 = 2.72" in guarantee
    assert "1e-06" in guarantee
    assert "\x1b" not in done.stdout


def test_json_is_short_for_format_json(shop: Path) -> None:
    every = [typer.main.get_command(app)]
    for one in every:
        every += getattr(one, "commands", {}).values()
    with_form = {one.name: {each.opts[0] for each in one.params} for one in every}
    assert [name for name, options in with_form.items() if "--json" in options] == [
        name
        for name, options in with_form.items()
        if "--format" in options and name != "statement"  # Markdown or YAML
    ]
    command = ("mine", "baskets.dat", "--seed", "1")
    short = run(shop, *command, "--json")
    assert (short.stderr, short.returncode) == ("", 0)
    assert short.stdout == run(shop, *command, "--format", "json").stdout
    assert run(shop, *command, "--format", "json", "--json").stdout == short.stdout
    assert json.loads(run(shop, "plan", "--json").stdout)["size"] == 2


def test_json_is_exactly_the_contract(shop: Path) -> None:
    chosen = "for one itemset, it needs the smallest margin of all that need no product list"
    for options, mechanism in (
        (["--mechanism", "large-margin"], '"large-margin"'),
        (ALONE, f'"limited-domain", "reason": "{chosen}"'),
    ):
        done = run(shop, "mine", "baskets.dat", *options, "--format", "json")
        name = mechanism.split('"')[1]
        assert done.stdout == (
            f'{{"schema": 1, "private": true, "date": "{json.loads(done.stdout)["date"]}", '
            f'"mechanism": {mechanism}, "size": 2, "epsilon": 1.0, "delta": 1e-06, '
            f'"neighbors": "add-remove", "privacy_unit": "basket", '
            f'"guarantee": "Guarantee ({name}, ε = 1, δ = 1e-06): '
            "adding or removing any one basket changes the probability of any result by at most "
            "a factor e^1 = 2.72, "
            'up to an added probability of 1e-06.", "abstained": false, '
            '"itemsets": [{"items": [39, 48], "support": null}]}\n'
        )
        assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.full
def test_a_budget_that_promises_little_is_warned_of_in_a_line_and_spent(shop: Path) -> None:
    asked = ["mine", "baskets.dat", "--format", "json", "--epsilon", "12"]
    done = run(shop, *asked)
    assert done.stderr == (
        "Warning: --epsilon 12 promises next to nothing: it lets the probability of a result "
        "change by a factor of "
        "e^12; 1 or less is a strong promise\n"
    )
    assert (json.loads(done.stdout)["epsilon"], done.returncode) == (12.0, 0)
    [line] = run(shop, *asked[:-1], "1", "--delta", "0.01").stderr.splitlines()
    assert line.startswith("Warning: --delta 0.01 promises little: ")
    (shop / "many.dat").write_text("39 48\n" * 3_000)
    [line] = run(shop, "mine", "many.dat", "--top", "3", "--delta", "9e-4").stderr.splitlines()
    assert line.startswith("Warning: --delta 0.0009 is not below 1 / (number of baskets, about ")


@pytest.mark.full
@pytest.mark.parametrize("output_format", ["table", "json", "csv"])
@pytest.mark.one_in(3)
def test_output_is_what_a_screen_would_show(shop: Path, tmp_path: Path, output_format: str) -> None:
    path = tmp_path / "release.txt"
    path.write_text("old")
    command = ["mine", "words.parquet", "--format", output_format, *ALONE]
    screen, done = run(shop, *command), run(shop, *command, "--output", path)
    assert (done.stdout, done.stderr, done.returncode) == ("", f"wrote {path}\n", 0)
    assert path.read_text(encoding="utf-8") == screen.stdout
    assert list(tmp_path.iterdir()) == [path]


SOURCES: list[Sequence[str]] = [
    ["baskets.dat"],
    ["baskets.dat.gz"],
    ["lines.csv"],
    ["list.parquet"],
    ["two_lists.parquet", "--items", "returned"],
    ["list.feather"],
    ["long.parquet", "--basket", "order_id", "--item", "product"],
    ["long.tsv.gz", "--basket", "order_id", "--item", "product"],
]


@pytest.fixture(scope="session")
def seeded_answer(shop: Path) -> dict[str, Any]:
    """What one seed gives over these baskets and the catalogue of 1000."""
    asked: Any = {"mechanism": "exponential", "epsilon": 0.0005, "seed": 11, "supports": False}
    release: fim.Release = fim.mine(BASKETS, catalogue=shop / "catalogue.csv", top=1, **asked)
    assert release.itemsets[0].items != tuple(TOP)
    return release.to_dict()


LUCK = [
    "--mechanism", "exponential", "--catalogue", "catalogue.csv", "--epsilon", "0.0005", *ALONE,
    "--seed", "11",
]  # fmt: skip


@pytest.mark.parametrize("source", SOURCES, ids=" ".join)
@pytest.mark.one_in(6)
def test_every_form_gives_the_same(shop: Path, source: Any, seeded_answer: dict[str, Any]) -> None:
    assert answer(shop, *source, *LUCK) == seeded_answer


def test_standard_input(shop: Path, seeded_answer: dict[str, Any]) -> None:
    assert answer(shop, "-", *LUCK, stdin=(shop / "baskets.dat").read_text()) == seeded_answer


@pytest.mark.full
def test_without_a_seed_luck_differs(shop: Path) -> None:
    options = LUCK[:-2]
    drawn = [answer(shop, "baskets.dat", *options) for _ in range(3)]
    assert all(release["private"] is True for release in drawn)
    assert len({str(release["itemsets"]) for release in drawn}) > 1  # of half a million pairs


CUSTOMERS: list[Sequence[str]] = [
    ["customers.parquet", "--user", "customer"],
    ["customers.parquet", "--items", "items", "--basket", "basket", "--user", "customer"],
    ["customers.csv", "--basket", "order_id", "--item", "product", "--user", "customer"],
]


@pytest.mark.parametrize("rule", ["drop", "own-unit"])
@pytest.mark.parametrize("source", CUSTOMERS, ids=" ".join)
@pytest.mark.one_in(6)
def test_customers_can_be_protected(shop: Path, source: Sequence[str], rule: str) -> None:
    release = answer(shop, *source, "--missing-user", rule, "--epsilon", "2", *ALONE)
    assert release["privacy_unit"] == "user"
    assert release["itemsets"] == [{"items": TOP, "support": None}]
    assert list(release) == list(answer(shop, "baskets.dat", *ALONE))


def advised(output: str) -> list[str]:
    """The arguments of the command that is advised."""
    [line] = [one for one in output.splitlines() if one.startswith(("To try: ", "To find more: "))]
    words = shlex.split(line.partition(": ")[2])
    assert words[:2] == ["fim-private", "mine"]
    return words[1:]


def test_the_command_that_is_advised_is_the_one_that_was_typed(shop: Path) -> None:
    rows = "".join(f"{n},a\n{n},b\n" for n in range(100))
    (shop / "two words.csv").write_text(f"order_id,product\n{rows}")
    columns = ["--item=product", "--basket", "order_id"]
    typed = ["two words.csv", *columns, "--epsilon", "0.5", "--delta", "1e-9", *LARGE_MARGIN]
    command = advised(run(shop, "mine", *typed).stdout)
    assert command[:2] == ["mine", "two words.csv"]
    command.remove("--no-supports")
    pairs = dict(zip(command[2::2], command[3::2], strict=True))
    asked = {"--basket": "order_id", "--item": "product", "--epsilon": "0.5", "--delta": "1e-09"}
    assert pairs == {"--mechanism": "auto", "--top": "1", **asked}
    assert run(shop, "mine", *command[1:]).returncode == 0


ERRORS: list[tuple[Sequence[str], str]] = [
    (["nowhere.parquet"], r"'nowhere\.parquet' does not exist"),
    (["two\nlines.dat"], r"two\\nlines\.dat.* does not exist"),
    (["."], r"one of several texts, which need columns|name those of one form"),
    (["damaged.parquet"], r"'damaged\.parquet' is truncated, damaged"),
    (["-"], r"standard input is empty"),
    (["list.parquet", "--items", "itms"], r"no column 'itms'.*'basket' \(int64\), 'items'"),
    (["long.csv"], r"name its columns with --basket and --item"),
    (["baskets.dat", "--epsilon", "0"], r"epsilon must be a number above 0, not 0"),
    (["baskets.dat", "--epsilon", "1_0"], r"'--epsilon': must be a number such as 0\.5 or 1e-6"),
    (["baskets.dat", "--top", "1_0"], r"'--top': must be a whole number, not '1_0'"),
    (["baskets.dat", "--delta", "0"], r"delta must be above 0 without a public list of all"),
    (["baskets.dat", "--format", "xml"], r"--format.*'xml'.*table.*json.*csv"),
    (["baskets.dat", "--mechanism", "exponential"], r"public.*catalogue or --universe-size.*would"),
    (["-", "--items-are-public"], r"--items-are-public reads all items first.*can be read only"),
    (["customers.parquet", "--user", "customer"], r"column 'customer' of 'customers\.parquet' has"),
    (["customers.parquet", "--user", "missing_user"], r"has no column 'missing_user'; it has"),
    (["customers.parquet", "--user", "items"], r"column 'items' .*does not hold an identifier"),
    (["baskets.dat", "--no-such-option"], r"--no-such-option"),
    (["baskets.dat", "little.dat"], r"little\.dat"),
    ([], r"FILE"),
]


@pytest.mark.parametrize(("arguments", "message"), ERRORS, ids=str)
@pytest.mark.one_in(6)
def test_one_line_and_no_output(shop: Path, tmp_path: Path, arguments: Any, message: str) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text("old")
    before = listing(shop, tmp_path)
    done = run(shop, "mine", *arguments, "--output", tmp_path / "kept.json")
    assert re.search(message, refused(done))
    assert listing(shop, tmp_path) == before
    assert kept.read_text() == "old"


def test_a_full_standard_output(shop: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [SCRIPT, "mine", "baskets.dat"], cwd=shop, stdin=subprocess.DEVNULL, stdout=full,
            stderr=subprocess.PIPE, encoding="utf-8", env=environment(), timeout=PATIENCE,
        )  # fmt: skip
    assert done.returncode == 2
    assert re.fullmatch(r"Error: .*No space left.*\n", done.stderr)


def test_unknown_commands_and_none(shop: Path) -> None:
    assert "mien" in refused(run(shop, "mien", "baskets.dat"))
    done = run(shop)
    assert done.returncode == 2
    assert "mine" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_version(shop: Path) -> None:
    done = run(shop, "--version")
    assert (done.stdout, done.stderr, done.returncode) == (VERSION, "", 0)


@pytest.mark.full
def test_closed_streams(shop: Path) -> None:
    closed = (
        ("mine baskets.dat >&-", "standard output is closed"),
        ("mine - <&-", "standard input is closed"),
        # which takes no --output
        ("budget create new.ledger --epsilon 1 --delta 1e-6 >&-", "open it, or .* if the command"),
    )
    for words, reason in closed:
        command = ["bash", "-c", f"exec {SCRIPT} {words}"]
        options = CAPTURED | {"env": environment(), "encoding": "utf-8"}
        done = subprocess.run(command, cwd=shop, **options)
        assert re.search(reason, refused(done))


@pytest.fixture(scope="session")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six equal baskets of 400 items: C(400, 6) itemsets of support 6."""
    path = tmp_path_factory.mktemp("endless") / "endless.dat"
    path.write_text((" ".join(map(str, range(400))) + "\n") * 6)
    return path


def test_a_count_that_goes_on_and_on_is_given_up_with_one_line(endless: Path) -> None:
    words = ["mine", str(endless), "--size", "6", "--max-work", "1000000", *ALONE]
    assert " took more than --max-work = 1.0e6 steps: " in refused(run(endless.parent, *words))


def test_progress_is_shown_on_a_terminal_and_ctrl_c_ends_the_count(endless: Path) -> None:
    import pty

    command = [str(SCRIPT), "mine", str(endless), "--size", "6", "--max-work", str(10**15), *ALONE]
    reader, terminal = pty.openpty()
    piped: Any = {"stdout": subprocess.PIPE, "stderr": terminal}
    with subprocess.Popen(command, env=environment(), **piped) as process:
        os.close(terminal)
        shown = b""
        while b"Counting itemsets" not in shown:
            shown += os.read(reader, 1 << 16)
        process.send_signal(signal.SIGINT)
        while True:  # the terminal's buffer is small: read on, or the process waits for us
            try:
                if not os.read(reader, 1 << 16):
                    break
            except OSError:
                break
        assert process.wait(timeout=PATIENCE) == 130
        assert process.stdout is not None
        assert process.stdout.read() == b""
    os.close(reader)
