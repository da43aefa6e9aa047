# Every target sets up what it needs in .venv first, bench in .venv-bench: `demo` and `test` the little that they need, the others
# everything. PYTHON chooses the interpreter that environments are made with.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
ALL := $(VENV)/.installed-all
BENCH := .venv-bench
RELEASE := .venv-release
RECENT = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "relatum needs Python 3.11 or newer; say which with: make PYTHON=python3.12 ..."; exit 2; }
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup setup-all demo test test-all test-full coverage golden torture mutants check docs format bench dist try-release lowest clean

help:  ## Show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

setup: $(STAMP)  ## Make .venv and install relatum with what its demo and its tests need

$(STAMP): pyproject.toml constraints.txt
	@$(RECENT)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[test]'
	@touch $@

setup-all: $(ALL)  ## Install all that any target needs, too: peers, trackers, linters, the tools of documents

$(ALL): $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench,dev,docs,excel,frames,io,mcp,mysql,plot,postgres,serve,sql,test,track,tune]'
	@touch $@

demo: $(STAMP)  ## Show what relatum does, in a minute
	@rm -rf build/demo
	$(BIN)/relatum demo --out build/demo

test: $(STAMP)  ## Run the tests that tell whether a change is sound, in minutes
	$(PYTEST)

test-all: $(ALL)  ## Run all tests: those of documents, notebooks, the site, the release and the test tools, too
	$(PYTEST) --all

coverage: $(ALL)  ## Run all tests, count the lines that they run, processes that they start included
	@# What runs of a kernel is machine code: its lines count when they are compiled, so nothing may come from the cache.
	rm -rf build/coverage-kernels
	NUMBA_JIT_COVERAGE=1 NUMBA_CACHE_DIR=$(CURDIR)/build/coverage-kernels $(PYTEST) --all --cov --cov-report=term:skip-covered --cov-fail-under=95

test-full: $(ALL)  ## Run all tests at their large counts
	$(PYTEST) --all --full

golden: $(STAMP)  ## Print what differs from the golden record: answers, signatures and trained bits of three small runs; ARGS=--write
	$(BIN)/python -m golden $(ARGS)

torture: $(ALL)  ## Attack the program: kills, processes at once, faults, damage, fuzzing; ARGS='kills --trials 100' for less
	$(BIN)/python -m torture $(ARGS)

mutants: $(ALL)  ## Put small faults into the files that matter most, and see whether tests notice; writes results/mutation.json
	$(BIN)/python -m torture.mutants --sample 60 $(ARGS)

check: $(ALL)  ## Lint, check formatting and types
	@# Without the cache, which does not notice that an imported file has moved.
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(ALL)  ## Build the site of docs/ into build/site; a warning is an error
	@# The variable silences a notice of the theme's authors about another version of mkdocs.
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

format: $(ALL)  ## Format the code and mend what the linter can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(BENCH)/.installed  ## Measure speed and memory as ratios, in .venv-bench with its peers; writes bench.json
	$(BENCH)/bin/python -m benchmarks

$(BENCH)/.installed: pyproject.toml constraints.txt
	@$(RECENT)
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[bench,dev,io,mysql,postgres,serve]'
	@touch $@

dist: $(RELEASE)/.installed  ## Build wheel and source distribution into dist/, and check them
	$(RELEASE)/bin/python -m release dist

try-release: dist  ## Install the wheel into an empty environment, type the quick start, try each extra; TORCH=torch==2.13.0 first
	$(RELEASE)/bin/python -m release try $(if $(TORCH),--torch $(TORCH))

lowest: dist  ## Run tests with the lowest versions that pyproject.toml allows
	PATH="$(CURDIR)/$(RELEASE)/bin:$$PATH" $(RELEASE)/bin/python -m release lowest $(if $(TORCH),--torch $(TORCH))

$(RELEASE)/.installed: pyproject.toml
	@$(RECENT)
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet build hatchling packaging uv
	@touch $@

clean:  ## Remove all environments and everything made
	rm -rf $(VENV) $(BENCH) $(RELEASE) .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist bench.json
