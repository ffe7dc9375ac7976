"""Options from a file and from the environment."""

import json
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import typer
from commands import refused, run, told
from hypothesis import strategies as st
from typer.testing import CliRunner

import fim_private as fim
from fim_private.cli.commands import app
from fim_private.cli.parsing import commands_of, is_typed_only, key_of, retyped

BASKETS = "39 48\n" * 600 + "39 41\n" * 60


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "baskets.dat").write_text(BASKETS)
    return tmp_path


def asked(folder: Path, *words: str, **variables: str) -> dict[str, Any]:
    """What a release says that was mined, without supports: these have noise."""
    done = run(folder, "mine", *words, "--no-supports", "--format", "json", **variables)
    release: dict[str, Any] = json.loads(told(done))
    return release


def commands() -> dict[tuple[str, ...], Any]:
    return dict(commands_of(typer.main.get_command(app)))


@pytest.mark.full
def test_what_is_typed_wins_then_the_environment_then_a_file_then_the_default(shop: Path) -> None:
    (shop / "all.toml").write_text('epsilon = 3\ndelta = 1e-8\nfile = "baskets.dat"\n')
    (shop / "some.toml").write_text("epsilon = 3\ndelta = 1e-8\n[mine]\nepsilon = 4\n")
    assert asked(shop, "baskets.dat")["epsilon"] == 1
    by_file = asked(shop, "--config", "all.toml")
    assert (by_file["epsilon"], by_file["delta"]) == (3, 1e-8)
    by_table = asked(shop, "baskets.dat", "--config", "some.toml")
    assert (by_table["epsilon"], by_table["delta"]) == (4, 1e-8)
    variables = {"FIM_PRIVATE_MINE_EPSILON": "5", "FIM_PRIVATE_MINE_CONFIG": "some.toml"}
    by_variable = asked(shop, "baskets.dat", **variables)
    assert (by_variable["epsilon"], by_variable["delta"]) == (5, 1e-8)
    assert asked(shop, "baskets.dat", "--epsilon", "6", **variables)["epsilon"] == 6
    other = {"FIM_PRIVATE_COUNT_EPSILON": "5", "FIM_PRIVATE_MINE_EPSILON": ""}
    assert asked(shop, "baskets.dat", **other)["epsilon"] == 1


def test_a_file_may_hold_whatever_is_typed(shop: Path) -> None:
    (shop / "mine.toml").write_text(
        '[mine]\nfile = "baskets.dat"\nmin_support = "2%"\nsize = "1-2"\nsupports = true\n'
        'union = false\nformat = "json"\noutput = "release.txt"\nquiet = true\n'
        'neighbors = "replace-one"\nepsilon = 12\n'
    )
    done = run(shop, "mine", "--config", "mine.toml")
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    said = json.loads((shop / "release.txt").read_text())
    assert (said["min_support"], said["size"], said["neighbors"]) == (0.02, "1-2", "replace-one")
    assert "saved" not in said  # its form was named


@pytest.mark.full
def test_an_option_that_is_given_several_times_is_a_list(shop: Path) -> None:
    rows = "".join(f"{n},food,{item}\n" for n in range(700) for item in ("bread", "milk"))
    (shop / "long.csv").write_text("order,kind,product\n" + rows)
    (shop / "f.toml").write_text("file='long.csv'\nbasket='order'\n[mine]\nitem=['kind','product']")
    (shop / "g.toml").write_text("[mine]\nitem = 'product'\n")
    typed = asked(shop, "long.csv", "--basket", "order", "--item", "kind", "--item", "product")
    assert typed["itemsets"] != []
    assert asked(shop, "--config", "f.toml") == typed
    by_variable = asked(shop, "long.csv", "--basket", "order", FIM_PRIVATE_MINE_ITEM="kind product")
    assert by_variable == typed
    given = asked(shop, "long.csv", "--basket", "order", "--config", "g.toml")
    assert asked(shop, "--config", "f.toml", "--item", "product") == given
    (shop / "h.toml").write_text("[mine]\nitem = ['kind', true]\n")
    said = "Error: key 'item' of table [mine] in 'h.toml' must be a text, or a number, not True\n"
    assert refused(run(shop, "mine", "long.csv", "--config", "h.toml")) == said


def test_files_of_a_report_are_a_list_too(shop: Path) -> None:
    for name in ("a.json", "b.json"):
        fim.mine(shop / "baskets.dat", seed=1).save(shop / name)
    for files in ("'a.json'", "['a.json', 'b.json']"):
        (shop / "f.toml").write_text(f"[report]\nfile = {files}\noutput = 'page.html'\n")
        assert run(shop, "report", "--config", "f.toml").stderr == "wrote page.html\n"
    done = run(shop, "report", FIM_PRIVATE_REPORT_FILE="a.json b.json")
    assert done.stderr == "wrote a.html\n"


@pytest.mark.full
def test_keys_above_all_tables_are_for_every_command_but_not_for_ledgers(shop: Path) -> None:
    (shop / "all.toml").write_text("epsilon=0.5\ndelta=1e-7\nquiet=true\nneighbors='replace-one'\n")
    for command in ("plan", "audit --mechanism distance --trials 0"):
        words = [*command.split(), "--config", "all.toml", "--format", "json"]
        said = json.loads(told(run(shop, *words)))
        assert (said["epsilon"], said["delta"], said["neighbors"]) == (0.5, 1e-7, "replace-one")
    assert "--delta" in refused(run(shop, "budget", "create", "x.ledger", "--config", "all.toml"))
    text = 'epsilon = 0.5\n[budget.create]\nepsilon = 3\ndelta = 0\nledger = "x.ledger"\n'
    (shop / "ledger.toml").write_text(text)
    assert run(shop, "budget", "create", "--config", "ledger.toml").returncode == 0
    done = run(shop, "budget", "show", "--json", FIM_PRIVATE_BUDGET_SHOW_LEDGER="x.ledger")
    assert json.loads(done.stdout)["limit"]["epsilon"] == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[mine]\ntop = true", "key 'top' of table [mine] in 'f.toml' must be a number"),
        ("[mine]\ntop = '5'", "key 'top' of table [mine] in 'f.toml' must be a number, not '5'"),
        ("top = 2.5", "Invalid value for '--top': must be a whole number, not '2.5'"),
        ("[mine]\nunion = 1", "key 'union' of table [mine] in 'f.toml' must be true or false"),
        ("[mine]\nwhere = ['a']", "key 'where' of table [mine] in 'f.toml' must be a text"),
        ("[mine]\nuser = 2020-01-01", "key 'user' of table [mine] in 'f.toml' must be a text"),
        ("[mine]\nepsilon = -1", "--epsilon (key 'epsilon' of table [mine] in 'f.toml')"),
        ("[mine]\nepsilon = nan", "must be a number such as 0.5 or 1e-6, not 'nan'"),
        ("[mine]\nformat = 'x'", "'x' is not one of 'table', 'json', 'csv', 'xlsx', 'markdown'"),
        ("[mine]\nmin-suport = 1", "key 'min-suport' of table [mine] in 'f.toml' is not an option"),
        ("[mine]\nseed = 1", "key 'seed' of table [mine] in 'f.toml' is not taken from a file"),
        ("config = 'g.toml'", "key 'config' in 'f.toml' is not an option"),
        ("[budget]\nepsilon = 1", "key 'epsilon' of table [budget] in 'f.toml' is not an option"),
        ("[audit]\ntrials = 'x'", "key 'trials' of table [audit] in 'f.toml' must be a number"),
        (
            "[mine]\nmin-support = '2%'\nmin_support = '50%'",
            "key 'min_support' of table [mine] in 'f.toml' is the same option as 'min-support'",
        ),
        (
            "max_basket = 1\nmax-basket = 2",
            "key 'max-basket' in 'f.toml' is the same option as 'max_basket' there: leave one",
        ),
        ("[mien]\ntop = 1", "key 'top' of table [mien] in 'f.toml' is not an option"),
        ("[mine", "'f.toml' is not TOML: Expected ']' at the end of a table declaration (at "),
        ("a = " + "[" * 100_000, "'f.toml' is not TOML: "),
        (b"\xff", "'f.toml' is not TOML: it is not UTF-8 text"),
        (None, "'f.toml' does not exist"),
    ],
    ids=lambda text: str(text)[:40],
)
@pytest.mark.one_in(4)
def test_what_a_file_may_not_say(shop: Path, content: str | bytes | None, message: str) -> None:
    if content is not None:
        (shop / "f.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run(shop, "mine", "baskets.dat", "--output", "out.csv", "--config", "f.toml")
    assert message in refused(done)
    assert not (shop / "out.csv").exists()


def test_an_empty_path_is_no_file_of_options(shop: Path) -> None:
    done = run(shop, "mine", "baskets.dat", "--config", "")
    assert refused(done) == "Error: the path of --config is empty; name a file\n"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("TOP", "x", "'--top': must be a whole number, not 'x' (FIM_PRIVATE_MINE_TOP)"),
        ("EPSILON", "-1", "--epsilon (FIM_PRIVATE_MINE_EPSILON) must be a number above 0"),
        ("UNION", "perhaps", "'FIM_PRIVATE_MINE_UNION' must be true or false, not 'perhaps'"),
        ("FORMAT", "x", "(FIM_PRIVATE_MINE_FORMAT)"),
        ("SEED", "1", "'FIM_PRIVATE_MINE_SEED' is not taken from the environment: type --seed"),
        ("USERS", "c", "the environment variable 'FIM_PRIVATE_MINE_USERS' is not an option"),
    ],
)
@pytest.mark.one_in(2)
def test_what_the_environment_may_not_say(shop: Path, name: str, value: str, message: str) -> None:
    done = run(shop, "mine", "baskets.dat", **{f"FIM_PRIVATE_MINE_{name}": value})
    assert message in refused(done)


def test_variables_of_other_things_are_not_ours(shop: Path) -> None:
    # Kubernetes sets the like for a service that is called fim-private; and groups have no
    # variables.
    variables = {"FIM_PRIVATE_PORT": "tcp://1", "FIM_PRIVATE_VERSION": "1", "FIM_PRIVATE_HELP": "1"}
    variables |= {"FIM_PRIVATE_SHOW_COMPLETION": "bash", "FIM_PRIVATE_MINE_X": "1"}
    assert "What it takes" in told(run(shop, "plan", **variables))


def test_a_variable_without_the_name_of_a_command_is_refused_where_it_would_be_missed(
    shop: Path,
) -> None:
    for words in (["plan"], ["mine", "baskets.dat"]):
        name = words[0].upper()
        done = run(shop, *words, FIM_PRIVATE_EPSILON="0.1")
        assert f"not read: call it FIM_PRIVATE_{name}_EPSILON" in refused(done)
        variables = {"FIM_PRIVATE_EPSILON": "0.1", f"FIM_PRIVATE_{name}_EPSILON": "0.5"}
        assert "ε = 0.5" in told(run(shop, *words, **variables))
        assert "ε = 2" in told(run(shop, *words, "--epsilon", "2", FIM_PRIVATE_EPSILON="0.1"))
    done = run(shop, "mine", "baskets.dat", FIM_PRIVATE_SEED="1")
    assert "not read: type --seed where you mean it, or unset it" in refused(done)


def test_a_seed_is_never_taken_from_elsewhere() -> None:
    """Whoever runs the command must know that its output is predictable; that of an audit has no
    secrets.

    Nor is it from elsewhere that names of items are not protected.
    """
    typed_only = {
        (*path, option.name)
        for path, command in commands().items()
        for option in command.params
        if is_typed_only(option) and option.name != "json"
    }
    keys = ("seed", "allow_other_unit", "again")
    everywhere = {(name, key) for name in ("mine", "count", "vote") for key in keys}
    others = {("mine", "items_are_public"), ("budget", "create", "renew")}
    assert typed_only == everywhere | others


def test_a_warning_names_the_variable(shop: Path) -> None:
    done = run(shop, "mine", "baskets.dat", FIM_PRIVATE_MINE_EPSILON="12")
    assert done.stderr.startswith("Warning: --epsilon (FIM_PRIVATE_MINE_EPSILON) 12 promises next")


@pytest.mark.full
def test_a_password_is_shown_from_nowhere(shop: Path) -> None:
    address = "postgresql://ann:hunter2@nowhere.invalid/shop"
    (shop / "db.toml").write_text(f"[mine]\nfile = '{address}'\nquery = 'select 1'\n")
    with_query = ["--query", "select 1"], {"FIM_PRIVATE_MINE_FILE": address}
    for words, variables in ((["--config", "db.toml"], {}), with_query):
        message = refused(run(shop, "mine", *words, **variables))
        assert "hunter2" not in message
        assert "nowhere.invalid" in message


TOML_VALUES = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=5),
    st.just([1]),
    st.just({}),
)
KEYS = sorted({key_of(each) for command in commands().values() for each in command.params})
TABLES = ["", *(".".join(path) for path in commands()), "budget", "nothing"]


@hypothesis.given(table=st.sampled_from(TABLES), key=st.sampled_from(KEYS), value=TOML_VALUES)
def test_no_traceback(tmp_path_factory: Any, table: str, key: str, value: object) -> None:
    """Whatever it says, it is taken or refused as wrong."""
    written = {True: "true", False: "false"}.get(value) if isinstance(value, bool) else None
    if written is None:
        written = json.dumps(value) if isinstance(value, str) else str(value)
    file = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_text((f"[{table}]\n" if table else "") + f"{key} = {written}\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["show", "nothing.json", "--config", str(file)])
    assert done.exit_code != 0
    assert isinstance(done.exception, SystemExit | fim.FimPrivateError)


@pytest.fixture
def context_of(shop: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What makes the context of `mine` of words and variables, without running it."""

    def make(words: list[str], **variables: str) -> Any:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(shop)
        group: Any = typer.main.get_command(app)
        root = group.make_context("fim-private", ["mine", *words], obj={})
        return group.commands["mine"].make_context("mine", words, parent=root)

    return make


def test_the_advised_command_types_all_that_was_given(shop: Path, context_of: Any) -> None:
    text = "epsilon = 2\n[mine]\nmax-basket = 5\nsupports = true\nunion = false\nquiet = true\n"
    (shop / "f.toml").write_text(text)
    words = ["baskets.dat", "--config", "f.toml", "--top", "3"]
    context = context_of(words, FIM_PRIVATE_MINE_DELTA="1e-7")
    asked = "fim-private mine baskets.dat --top 3"
    budget = "--supports --epsilon 2.0 --delta 1e-07"
    without = f"FIM_PRIVATE_MINE_DELTA= {asked} --no-supports --epsilon 2.0 --max-basket 5 --quiet"
    assert retyped(context, {}) == f"{asked} {budget} --max-basket 5 --quiet"
    united = retyped(context, {"max_basket": None, "union": True})
    assert united == f"{asked} --union {budget} --quiet"
    assert retyped(context, {"supports": False, "delta": None}) == without


def test_a_file_of_a_variable_is_left_out_by_emptying_it(shop: Path, context_of: Any) -> None:
    (shop / "f.toml").write_text("[mine]\nmax-basket=5\nfile='sqlite:///a b.db'\nitem=['a','b']\n")
    context = context_of([], FIM_PRIVATE_MINE_CONFIG="f.toml")
    command = "fim-private mine 'sqlite:///a b.db' --top 3 --item a --item b"
    shown = retyped(context, {"top": 3, "max_basket": None})
    assert shown == f"FIM_PRIVATE_MINE_CONFIG= {command}"


def test_the_advised_command_shows_no_password(shop: Path, context_of: Any) -> None:
    address = "postgresql://ann:hunter2@host/shop"
    (shop / "f.toml").write_text(f"[mine]\nfile = '{address}'\n")
    shown = "fim-private mine 'postgresql://ann:***@host/shop'"
    assert retyped(context_of(["--config", "f.toml"]), {}) == shown
    assert retyped(context_of([], FIM_PRIVATE_MINE_FILE=address), {}) == shown


@pytest.mark.full
def test_a_file_of_options_is_not_overwritten(shop: Path) -> None:
    (shop / "f.toml").write_text("[mine]\noutput = './f.toml'\n")
    message = refused(run(shop, "mine", "baskets.dat", "--config", "f.toml"))
    assert message.startswith(
        "Error: cannot write 'f.toml': it is --config; choose another --output"
    )
    assert message.endswith(" (key 'output' of table [mine] in 'f.toml')\n")


def test_two_forms_at_once_are_refused(shop: Path) -> None:
    message = refused(run(shop, "mine", "baskets.dat", "--json", "--format", "csv"))
    assert message == "Error: --json is short for --format json: leave one of them out\n"
