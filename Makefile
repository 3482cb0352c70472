# The one interface: setup, run, test, bench, and the few steps they are made of.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/uv pip install --quiet --system-certs --compile-bytecode --python $(BIN)/python
# Tests compute more than they wait: on two cores three processes are faster than two, and than four, which share a cache.
WORKERS ?= $(shell echo $$(((3 * $$(nproc) + 1) / 2)))
TEST_ARGS ?=
PARTS ?=
SOAK_ARGS ?=
MEASURED := tests/domains/accounts tests/domains/schedules tests/domains/people tests/cli/test_doctor.py tests/cli/test_doctor_oidc.py

# Without bytecode every process that a test starts compiles the package again.
unexport PYTHONDONTWRITEBYTECODE
export PATH := $(CURDIR)/$(BIN):$(PATH)

help: ## Say what each command does
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.everything ## Make .venv with everything in it

$(VENV)/.installer: requirements/setup.txt
	@echo "Making $(VENV)"
	@scripts/make-venv "$(PYTHON)" "$(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/setup.txt
	@touch $@

$(VENV)/.runtime: $(VENV)/.installer requirements/runtime.txt pyproject.toml openslot/__init__.py
	@echo "Installing the packages that Openslot needs into $(VENV)"
	@$(INSTALL) --require-hashes -r requirements/runtime.txt
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.everything: $(VENV)/.runtime requirements/dev.txt
	@$(INSTALL) --require-hashes -r requirements/dev.txt
	@touch $@

run: $(VENV)/.runtime ## Serve on http://127.0.0.1:8000 with demo data on the first start
	@echo "Starting openslot serve --demo; everything it stores is in ./data"
	@exec $(BIN)/openslot serve --demo

# Checks compute and tests wait: side by side they take less time. Either fails the whole.
SIDE_BY_SIDE = said=$$(mktemp); trap 'rm -f "$$said"' EXIT; \
	(code=0; $(MAKE) --no-print-directory $(1) >"$$said" 2>&1 || code=$$?; cat "$$said"; exit $$code) & beside=$$!; \
	code=0; $(MAKE) --no-print-directory $(2) || code=$$?; \
	wait $$beside || { echo "make $(1) has failed; its output is above." >&2; code=1; }; \
	exit $$code

test: setup chromium ## What people check every day: format, lint, types, import contracts, and most tests
	@$(call SIDE_BY_SIDE,check,daily)

test-all: ## Everything: make test, the tests that it leaves out, those that it shortens, and coverage
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-rest

test-rest: setup chromium ## What make test-all adds to make test
	@$(call SIDE_BY_SIDE,coverage,rest)

# In one word each: pytest would take a file that is there for tests to run.
daily rest: setup
	@$(BIN)/pytest --processes $(WORKERS) --part $@ --durations-to=test-results/durations.json \
		--failed-once-to=test-results/failed-once.json $(TEST_ARGS)

check: setup ## Format, lint, types, import contracts
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

unit: setup ## The tests alone; TEST_ARGS goes to pytest
	@$(BIN)/pytest --processes $(WORKERS) $(TEST_ARGS)

# Measured in all tests, lines cost as much time again as the tests (Python 3.11): so only some parts are, by their own.
coverage: setup ## Measure how much of some parts is run by their own tests
	@rm -rf .coverage && mkdir .coverage
	@$(BIN)/coverage run -m pytest --processes 2 $(MEASURED)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

prove: setup chromium ## Run the long proofs, or those in PARTS by name, such as kills, peers, clocks, disk
	@$(BIN)/python -m proofs $(PARTS)

soak: setup ## Run for two hours while something breaks every five minutes; SOAK_ARGS="--minutes 10 --every 30" for less
	@$(BIN)/python -m proofs.soak $(SOAK_ARGS)

chromium: setup ## Install a Chromium for the browser tests where there is none
	@scripts/install-chromium $(BIN)/python

mcp-peers: setup ## Install the MCP clients that the tests of the agents' tool server run; the tests do so themselves
	@scripts/install-mcp-peers $(BIN)/python

api-generators: setup ## Install the generators of API clients whose clients a test compiles and runs; the test does so itself
	@scripts/install-api-generators $(BIN)/python

bench: setup chromium ## Measure, as ratios within one run
	@$(BIN)/python -m benchmarks

record: setup ## At a release: record its statements and facts
	@$(BIN)/python -m tests.upgrades.record $(TEST_ARGS)

record-facts: setup ## Add golden facts of what the tests in TEST_ARGS cause
	@$(BIN)/python -m tests.upgrades.record --facts-only $(TEST_ARGS)

screenshots: setup chromium ## Take pictures of the pages for the documentation
	@$(BIN)/python -m tests.screenshots

# Each page in each state that the walks of the browser tests come to: phone, desk, dark, right to left, wide.
pictures: export OPENSLOT_PICTURES := test-results/pictures
pictures: setup chromium ## Take pictures of every page into test-results/pictures, to look at
	@rm -rf $(OPENSLOT_PICTURES)
	@$(BIN)/pytest --processes $(WORKERS) $$(grep -rl "await check_pages(" tests/doors/web)
	@$(BIN)/python -m tests.support.pictures

messages: setup ## Collect the texts of pages into the catalogs
	@scripts/messages

docs: setup ## Write the tables of settings, commands and agents' tools, the page of the database, and the list of tests that only make test-all runs
	@$(BIN)/python -m scripts.tables
	@$(BIN)/python -m scripts.database_program
	@$(BIN)/python -m tests.doors.agents.documenting
	@$(BIN)/pytest --collect-only -qq --list-rest=tests/only_in_test_all.txt >/dev/null

wheel: $(VENV)/.runtime ## Build dist/openslot-VERSION-py3-none-any.whl, which people install
	@$(BIN)/python -m hatchling build --target wheel --directory dist

# With another format than Docker's, Podman leaves the health check out.
image: ## Build the image openslot:VERSION with Podman or Docker
	@engine=$$(command -v podman || command -v docker) || { echo "Install Podman or Docker first." >&2; exit 1; }; \
	commit=$$(git rev-parse --short=12 HEAD 2>/dev/null || true); version=$$(sed -n 's/^__version__ = "\(.*\)"/\1/p' openslot/__init__.py); \
	case $$engine in *podman) format="--format docker";; *) format=;; esac; \
	$$engine build $$format --file Containerfile --build-arg "COMMIT=$$commit" --tag "openslot:$$version" .

# In an environment of its own: what audits must not decide which versions are audited.
$(VENV)/audit/.installed: $(VENV)/.installer requirements/audit.txt
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/audit
	@$(BIN)/uv pip install --quiet --system-certs --python $(VENV)/audit/bin/python --require-hashes -r requirements/audit.txt
	@touch $@

audit: $(VENV)/audit/.installed ## Look up known vulnerabilities of every locked package; needs the internet
	@$(VENV)/audit/bin/python scripts/audit.py

lock: ## Renew the lock files from pyproject.toml
	@scripts/lock

clean: ## Remove what the other commands made, but not ./data
	@rm -rf $(VENV) dist .mypy_cache .ruff_cache .coverage .hypothesis .import_linter_cache test-results

.PHONY: help setup run test test-all test-rest daily rest check unit coverage prove soak chromium mcp-peers api-generators bench record record-facts screenshots pictures messages docs wheel image audit lock clean
