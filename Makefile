# Everything a newcomer needs: `make demo` and `make test`. Both set up .venv first, from the pinned requirements.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help setup demo test lint lint-apart unit soak browser docs bench bench-campaign footprint peers leaderboard leaderboard-long lock clean
.DEFAULT_GOAL := test

help:  ## what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/ready  ## the virtual environment .venv, from the pinned requirements

.venv/ready: requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "outlay needs Python 3.11 or newer; set PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index --editable .
	@touch $@

demo: setup  ## compare policies on a built-in problem: a table here, a figure and a page in build/demo
	$(BIN)/outlay compare --out build/demo

# Both at the same time: alone, mypy leaves one of two cores idle for most of a minute.
test: setup  ## lint, types, layers, tests
	@$(MAKE) --no-print-directory --jobs=2 unit lint-apart

lint: setup  ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

lint-apart: setup  ## the same, what it says in one piece: for `make test`, where the tests print meanwhile
	@said=$$($(MAKE) --no-print-directory lint 2>&1); status=$$?; printf '\n%s\n' "$$said"; exit $$status

unit: setup  ## the tests alone
	$(BIN)/pytest -n 2 --dist worksteal

soak: setup  ## what takes too long for every day: a billion pulls, new random examples, large budgets; hours
	HYPOTHESIS_PROFILE=default $(BIN)/pytest -n 2 -m soak
	$(MAKE) leaderboard-long

browser: setup  ## the dashboard in a real browser: needs Debian's chromium, or OUTLAY_CHROMIUM; OUTLAY_SHOTS keeps pictures
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/browser.txt
	$(BIN)/pytest -m soak tests/service/test_browser.py tests/service/test_looks.py

docs: setup  ## the documentation as a site, in build/site; `python -m http.server -d build/site` serves it
	LITELLM_LOCAL_MODEL_COST_MAP=True NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: setup  ## pulls per second, as ratios to the bare sampling floor measured in the same run
	$(BIN)/python -m benchmarks.engine

bench-campaign: setup  ## asks and tells per second, next to Optuna's; the cost of choosing before results are in
	$(BIN)/python -m benchmarks.campaign
	$(BIN)/python -m benchmarks.delay

footprint: setup  ## megabytes of an installation, with each extra
	$(BIN)/python -m benchmarks.footprint

peers: setup  ## outlay's speed next to other bandit packages, which it installs into build/peers
	$(BIN)/python -m benchmarks.peers

leaderboard: setup  ## which policy is best where: plays what build/leaderboard does not hold yet; OUTLAY_DATA adds real problems
	$(BIN)/python -m benchmarks.leaderboard

leaderboard-long: setup  ## the same at 100 000 mean costs, and at a million in fewer runs: hours
	$(BIN)/python -m benchmarks.leaderboard --budgets 100000
	$(BIN)/python -m benchmarks.leaderboard --budgets 1000000 --runs 100

lock:  ## choose the pinned versions anew; needs uv
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --extra dev -o requirements/dev.txt pyproject.toml
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url -c requirements/dev.txt --extra browser -o requirements/browser.txt pyproject.toml

clean:  ## remove .venv and build
	rm -rf .venv build
