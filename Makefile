# SPDX-License-Identifier: BSD-3-Clause
# Every target sets up what it needs in .venv; a second call installs again only if pyproject.toml has changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:  # two targets must not install into the same .venv at the same time
.PHONY: help demo test test-all test-oldest lint docs build bench bench-quick clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3 ... to choose one."

demo: $(VENV)/.installed-app ## Compare models on an embedded table, choose one, write a report
	$(BIN)/separatrix demo --force

# Tests are distributed over two processes by file, so that fixtures shared by a file are built once.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile

test: $(VENV)/.installed-test ## Run all quick tests; ARGS="..." is passed on to pytest
	$(PYTEST) -m "not slow" $(ARGS)

test-all: $(VENV)/.installed-test $(VENV)/.installed-bench ## Run all tests, also slow ones and those of benchmarks and examples
	$(PYTEST) tests src $(ARGS)

# Old libraries raise deprecation warnings about one another, which are not ours to mend. scikit-learn 1.8 warns about
# C=inf, the setting that its own deprecation warning recommends.
OLDEST := $(VENV)-oldest
QUIET := -W default::DeprecationWarning -W default::PendingDeprecationWarning -W default::FutureWarning \
  -W 'default:Setting penalty=None will ignore:UserWarning'

test-oldest: $(OLDEST)/.installed ## Run the tests with the oldest supported version of every library
	$(OLDEST)/bin/python -m pytest -n 2 --dist loadfile $(QUIET) $(ARGS)

lint: $(VENV)/.installed-lint ## Check style, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# The gallery is drawn by two processes; MPLBACKEND is for machines without a screen.
docs: $(VENV)/.installed-docs ## Write the site to docs/_build/html; open index.html there, without a network
	MPLBACKEND=Agg $(BIN)/python -m sphinx -W --keep-going -q -j 2 docs docs/_build/html $(ARGS)
	@echo "Open docs/_build/html/index.html"

build: $(VENV)/.installed-build ## Write the wheel and the source archive to dist/
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	@ls dist

bench: $(VENV)/.installed-bench ## Measure speed, memory and accuracy against other libraries, at full size
	$(BIN)/python -m benchmarks.run $(ARGS)
	@$(BIN)/python -m benchmarks.report > /dev/null

bench-quick: $(VENV)/.installed-bench ## The same rows in minutes: fewer repeats and rows, a time limit
	$(BIN)/python -m benchmarks.run --quick $(ARGS)
	@$(BIN)/python -m benchmarks.report > /dev/null

clean: ## Remove .venv, caches and everything that was made
	rm -rf $(VENV) $(OLDEST) build dist separatrix-demo benchmarks/results/scratch
	rm -rf docs/_build docs/examples docs/reference
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find . -name '*.egg-info' -type d -prune -exec rm -rf {} +

$(VENV)/.installed-%: pyproject.toml | $(VENV)/.created
	@echo "Installing separatrix[$*] into $(VENV) ..."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[$*]'
	@touch $@

# Every lower limit in pyproject.toml becomes an exact version.
$(OLDEST)/.installed: pyproject.toml
	'$(PYTHON)' -m venv --clear $(OLDEST)
	@sed -nE 's/^ +//; s/"([a-z0-9-]+)(\[[a-z,]+\])?>=([0-9.]+)"/\n\1==\3\n/gp' pyproject.toml \
	  | grep '==' | grep -v '^torch' | sort -u > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/python -m pip install -qq --disable-pip-version-check --editable '.[test]' --constraint $(OLDEST)/oldest.txt
	@touch $@

# A stamp and not $(BIN)/python: where venv fails half-way, that file is there all the same.
$(VENV)/.created:
	@command -v '$(PYTHON)' > /dev/null || { \
	  echo "$(PYTHON) was not found. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3"; exit 1; }
	@'$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "separatrix needs Python 3.11 or newer, and $(PYTHON) is $$('$(PYTHON)' --version 2>&1)." \
	       "Name a newer one: make PYTHON=/path/to/python3"; exit 1; }
	@'$(PYTHON)' -m venv $(VENV) || { \
	  echo "$(PYTHON) could not make $(VENV). On Debian and Ubuntu, install the package python3-venv."; exit 1; }
	@touch $@
