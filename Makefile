# Two commands matter: `make demo` and `make test`. Both need Python 3.11 or newer and make, and fetch the rest.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?=
VENV ?= .venv
WORKERS ?= 2
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
# What packages without a wheel are built with: Shoal itself by hatchling, PySpark by setuptools.
BUILDERS := hatchling editables setuptools
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq install -c constraints.txt

# A run starts many interpreters: what one of them has compiled the others use, also where the machine says otherwise.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test quick check slow docs bench clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.runtime ## install what is needed and run the demonstration into build/demo
	@$(BIN)/shoal demo

# The tests run even when a check has failed, so that one call tells everything. Where no PostgreSQL or MariaDB server, no chromium,
# no Java (for Spark) or no R can be had, those that need one are skipped, and say so.
test: $(VENV)/.dev ## every check and every test, the documentation included
	@scripts/debian-need postgresql sh -c 'command -v initdb || ls /usr/lib/postgresql/*/bin/initdb' || true
	@scripts/debian-need mariadb-server-core sh -c 'command -v mariadbd || ls /usr/sbin/mariadbd' || true
	@scripts/debian-need chromium sh -c 'command -v chromium' || true
	@scripts/debian-need openjdk-17-jre-headless sh -c 'command -v java' || true
	@scripts/debian-need r-base-core sh -c 'command -v Rscript' || true
	@checked=0; $(MAKE) check || checked=1; \
	    $(PYTEST) || exit 1; \
	    [ $$checked -eq 0 ] || { echo "the tests passed and the checks did not: see above" >&2; exit 1; }

# A test that takes more than about 0.15 s of CPU is marked slow; every file of tests keeps a fast one where it can.
quick: $(VENV)/.dev ## the fast tests, in under a minute
	@$(PYTEST) -m "not slow"

check: $(VENV)/.dev ## format, lint, types, import contracts, addresses
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python scripts/addresses.py

slow: $(VENV)/.dev ## the long statistical runs and many more examples
	@$(PYTEST) --run-slow

docs: $(VENV)/.dev ## build the documentation into build/docs, offline, warnings are errors
	@$(BIN)/python -m sphinx -W --keep-going -q -d build/doctrees docs build/docs
	@echo "build/docs/index.html"

bench: $(VENV)/.dev ## run every script in benchmarks/
	@for script in benchmarks/[a-z]*.py; do \
	    [ -e "$$script" ] || { echo "no benchmarks yet"; break; }; \
	    echo "== $$script"; $(BIN)/python "$$script" || exit 1; \
	done

clean: ## remove what was built, except the virtual environment
	@rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests scripts docs benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps: an environment is made again only when what it is made from has changed.

$(BIN)/python:
	@python=$$(scripts/find-python "$(PYTHON)") && \
	    scripts/debian-need python3-venv "$$python" -c "import ensurepip, venv" && \
	    echo "making $(VENV) with $$python" && "$$python" -m venv "$(VENV)"

$(VENV)/.runtime: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing Shoal into $(VENV)"
	@$(PIP) $(BUILDERS)
	@$(PIP) --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing Shoal and its tools into $(VENV)"
	@$(PIP) $(BUILDERS)
	@$(PIP) --no-build-isolation -e ".[dev]"
	@touch $(VENV)/.runtime $@
