# `make help` lists the targets.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT := build/sample

.PHONY: help audit test check format bench-env clean

help: ## Say what the targets do
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/installed: pyproject.toml
	@echo "Setting up $(VENV) (once, about a minute)"
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "kgaudit needs Python 3.11 or newer: set PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

audit: $(VENV)/installed ## Audit the bundled sample and say where the report lies
	@rm -rf $(OUT)/run
	$(BIN)/kgaudit index kgaudit/sample/docs --to $(OUT)/index
	$(BIN)/kgaudit audit kgaudit/sample/kg.ttl kgaudit/sample/extracted.trig --index $(OUT)/index --run $(OUT)/run
	$(BIN)/python -m kgaudit.sample.compare $(OUT)/run
	$(BIN)/kgaudit report $(OUT)/run

test: $(VENV)/installed ## Run the tests
	$(BIN)/pytest -n 2 tests

check: $(VENV)/installed ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/installed ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench-env: $(VENV)/installed ## Install what the benchmarks need (torch among it: several GB)
	$(BIN)/pip install --quiet --disable-pip-version-check -r benchmarks/requirements.txt

clean: ## Remove what was built, the environment too
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache *.egg-info
