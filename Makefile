# Every target sets itself up from a bare Python (3.10 or newer) and pip: the virtual environment
# is ./.venv, made on first use and brought up to date when pyproject.toml changes.
#
#   make demo      solve the bundled examples and print certified components
#   make test      format, lint, types, imports, tests (the fast ones), examples in docstrings
#   make test-all  the same with the slow tests (TEST_STRIDE=1: all of their random problems)
#   make coverage  which lines the fast tests reach, in the terminal and in htmlcov/index.html
#   make bench     benchmarks
#   make bench-check  ten minutes of them: what got worse than the stored table
#   make docs      HTML documentation in docs/_build/html
#   make test-minimum  the fast tests with the oldest dependencies (PYTHON=python3.10: the oldest Python)
#   make dist, make test-dist  the files of a release; the wheel in an empty environment, the tests of the sdist
#   make lint, make format, make clean

.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
# Wheels only: nothing is compiled on the way, and a missing wheel is an error at once.
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \
	$(BIN)/python -m pip install -qq --only-binary :all: $(if $(CONSTRAINTS),-c $(CONSTRAINTS))
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 10))
CANDIDATES := python3 python3.13 python3.12 python3.11 python3.10 python
PYTHON ?= $(shell for p in $(CANDIDATES); do \
	if $$p -c '$(NEW_ENOUGH)' >/dev/null 2>&1; then echo $$p; break; fi; done)

# Bytecode is kept: without it every process of the tests compiles the package, and pytest all tests.
unexport PYTHONDONTWRITEBYTECODE

# Reference data for the tests that need them; those tests are skipped without.
ifndef ORTHOSPCA_DATA
ifneq ($(wildcard ../shared/data),)
export ORTHOSPCA_DATA := $(abspath ../shared/data)
endif
endif

.PHONY: help
help:
	@sed -n 's/^#   //p' Makefile

$(BIN)/python:
	@test -n "$(PYTHON)" && "$(PYTHON)" -c '$(NEW_ENOUGH)' || { \
		echo "orthospca needs Python 3.10 or newer, and none of these is: $(if $(PYTHON),$(PYTHON),$(CANDIDATES))." \
			"Name one with 'make PYTHON=/path/to/python3 ...'." >&2; exit 1; }
	@# Some distributions ship Python without ensurepip: then its own pip fills the environment.
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { $(PYTHON) -m venv --clear --without-pip $(VENV) \
		&& $(PYTHON) -m pip --python $(BIN)/python install -qq pip; }

# One stamp for each set of extras; all of them share the environment.  What runs often is compiled,
# on all cores, which pip would do file by file.
$(VENV)/.with-%: pyproject.toml | $(BIN)/python
	@echo "setting up $(VENV) ($*)"
	@$(PIP) --no-compile -e '.[$*]'
	@$(BIN)/python -m compileall -q -j 0 $(VENV)/lib >/dev/null 2>&1 || true
	@touch $@ $(VENV)/.installed

# A first look needs no extras, and few of the modules that compiling all of them would wait for.
$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "setting up $(VENV)"
	@$(PIP) --no-compile -e .
	@touch $@

.PHONY: demo
demo: $(VENV)/.installed
	@$(BIN)/orthospca demo

# Tests and the examples in docstrings, in one process for each core.
PYTEST := $(BIN)/python -m pytest -q -n auto --dist loadgroup --doctest-modules tests src/orthospca

# What goes before them: what is checked at once without running it, and the compiled loop.  Types,
# which take a minute the first time, are checked beside the tests.
BEFORE := $(MAKE) --no-print-directory -j 2 compiled style imports
BESIDE := $(MAKE) --no-print-directory -j 2 types

.PHONY: test
test: $(VENV)/.with-test
	@$(BEFORE)
	@$(BESIDE) fast-tests

.PHONY: test-all
test-all: $(VENV)/.with-test $(VENV)/.with-scanpy
	@$(BEFORE)
	@$(BESIDE) all-tests

.PHONY: fast-tests all-tests
fast-tests: $(VENV)/.with-test
	$(PYTEST) -m "not slow"

all-tests: $(VENV)/.with-test
	HYPOTHESIS_PROFILE=full $(PYTEST)

# Lines of Python; what numba compiles leaves no trace.  Processes that tests start are not counted.
.PHONY: coverage
coverage: $(VENV)/.with-coverage
	$(PYTEST) -m "not slow" --cov --cov-report=term:skip-covered --cov-report=html

# In an environment of its own; types are checked with the newest versions only.  The checks of the
# oldest scikit-learn ask for the variable.
.PHONY: test-minimum
test-minimum:
	@SCIPY_ARRAY_API=1 $(MAKE) --no-print-directory VENV=.venv-minimum CONSTRAINTS=constraints/minimum.txt test-only

.PHONY: test-only
test-only: $(VENV)/.with-test
	@$(MAKE) --no-print-directory compiled
	@$(MAKE) --no-print-directory fast-tests

.PHONY: dist
dist: $(VENV)/.with-release
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

# What others get: the wheel where there is nothing else, and the tests from the sdist.
TRIAL := build/trial
.PHONY: test-dist
test-dist:
	@ls dist/*.whl dist/*.tar.gz >/dev/null || { echo "there is nothing in dist; run make dist" >&2; exit 1; }
	rm -rf $(TRIAL)
	@mkdir -p $(TRIAL)/sdist
	@$(MAKE) --no-print-directory VENV=$(TRIAL)/wheel $(TRIAL)/wheel/bin/python
	$(TRIAL)/wheel/bin/python -m pip install -qq --only-binary :all: dist/*.whl
	cd $(TRIAL) && wheel/bin/orthospca demo
	tar xzf dist/*.tar.gz -C $(TRIAL)/sdist --strip-components=1
	$(MAKE) -C $(TRIAL)/sdist test

.PHONY: bench
bench: $(VENV)/.with-bench
	$(BIN)/python -m benchmarks

.PHONY: bench-check
bench-check: $(VENV)/.with-fast
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.check

.PHONY: docs
docs: $(VENV)/.with-docs
	$(BIN)/python docs/house.py
	$(BIN)/python -m sphinx -q -E -W --keep-going -b html docs docs/_build/html
	@$(BIN)/python docs/links.py
	@echo "documentation: docs/_build/html/index.html"

.PHONY: lint style types imports
lint: style types imports

style: $(VENV)/.with-test
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m ruff check .

types: $(VENV)/.with-test
	$(BIN)/python -m mypy

imports: $(VENV)/.with-test
	$(BIN)/lint-imports --no-cache --no-logo

# Once, and kept beside the source: processes that find nothing would each compile it.
.PHONY: compiled
compiled: $(VENV)/.with-test
	@$(BIN)/python -c 'from orthospca.bounds.conditioning import compiled; compiled.load()'

.PHONY: format
format: $(VENV)/.with-test
	$(BIN)/python -m ruff format .
	$(BIN)/python -m ruff check --fix .

.PHONY: clean
clean:
	rm -rf $(VENV) .venv-minimum docs/_build build dist htmlcov .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
