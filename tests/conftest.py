"""What all tests share: hypothesis judges what the code does, not how long a busy machine takes
over it.

And what is left to `make test-all` beyond the tests that are marked ``full``.
"""

from collections import defaultdict
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

# The other settings are hypothesis' own: where CI is set, the same examples in every run. Half as
# many examples as it takes, for there are some hundred properties; `make fuzz` gives very many to
# what reads what people have.
settings.register_profile(
    "untimed", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("quick", settings.get_profile("untimed"), max_examples=10)
# Very many examples, the same ones in every run: `make fuzz`.
settings.register_profile(
    "fuzz", settings.get_profile("untimed"), max_examples=20_000, derandomize=True, database=None
)
settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    """Give a property fewer examples where the tests marked full are left out too: in `make
    test`.
    """
    if config.option.markexpr == "not full":
        settings.load_profile("quick")


# Of a test with more cases make test runs so many, and make test-all so many.
CASES, MOST_CASES = 1, 3

# In make test-all a worker runs whole files, so that what a file shares is made once: first those
# that take longest.
LONGEST = ("tests/services/test_spark", "tests/cli/test_studies", "tests/services/test_warehouse")

# Not to be imported where only the extra test is installed. The tests in them are marked full.
_NEEDS = {"unit/test_opendp.py": "opendp", "services/test_warehouse.py": "ibis"}
collect_ignore = [file for file, needed in _NEEDS.items() if not find_spec(needed)]
# An example in a docstring, which bears no marks.
NEEDS_OPENDP = "fim_private/opendp.py::fim_private.opendp.measurement"


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what ledgers note of themselves, outside of their files, out of the home directory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


def beside(cases: list[pytest.Item], count: int) -> Iterator[pytest.Item]:
    """Yield all but so many of the cases, which lie evenly among them."""
    for number, item in enumerate(cases):
        if len(cases) > count and number * count // len(cases) == (number - 1) * count // len(
            cases
        ):
            yield item


def how_likely(item: pytest.Item) -> tuple[bool, int]:
    """Order cases by how likely they are to break: those marked so, then those that ask for most,
    by their names.
    """
    return item.get_closest_marker("likely") is not None, len(item.nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as full what of many like cases is not to be run each time: with one_in(4), all but the
    first of four.

    Of a test with very many cases, and no mark that says that each is another test, only some are
    run each time: by make test the CASES most likely to break of those that are not full, by make
    test-all MOST_CASES of all, evenly spread. Others are marked rare.
    """
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))
    place: defaultdict[str, int] = defaultdict(int)
    for item in items:
        if sliced := item.get_closest_marker("one_in"):
            function = item.nodeid.partition("[")[0]
            if place[function] % sliced.args[0]:
                item.add_marker("full")
            place[function] += 1
        if item.nodeid == NEEDS_OPENDP:
            item.add_marker("full")
    alike, all_alike = defaultdict(list), defaultdict(list)
    for item in items:
        if item.get_closest_marker("every_case") is None:
            all_alike[item.nodeid.partition("[")[0]].append(item)
            if item.get_closest_marker("full") is None:
                alike[item.nodeid.partition("[")[0]].append(item)
    for cases in alike.values():
        for item in beside(sorted(cases, key=how_likely, reverse=True), CASES):
            item.add_marker("full")
    for cases in all_alike.values():
        # What make test runs make test-all does, too.
        quick = sum(item.get_closest_marker("full") is None for item in cases)
        longer = [item for item in cases if item.get_closest_marker("full") is not None]
        for item in beside(longer, max(MOST_CASES - quick, 0)):
            item.add_marker("rare")
