# `make help` lists the targets.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT := build/sample

.PHONY: help audit test test-gx test-airflow airflow airflow-stop test-airflow-services vllm vllm-stop test-vllm test-train elasticsearch elasticsearch-stop test-elasticsearch test-elasticsearch-8 check format bench-env clean

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
	$(BIN)/pytest -n 2 tests --ignore=tests/services --ignore=tests/es

.venv-gx/installed: pyproject.toml
	@echo "Setting up .venv-gx (once)"
	$(PYTHON) -m venv .venv-gx
	.venv-gx/bin/pip install --quiet --disable-pip-version-check --editable '.[gx]' psycopg2-binary 'pytest>=8'
	@touch $@

test-gx: .venv-gx/installed ## Run the tests of the Great Expectations package (PostgreSQL and Chromium where they are installed)
	.venv-gx/bin/pytest tests/services/gx

.venv-airflow/installed: pyproject.toml
	@echo "Setting up .venv-airflow (once, about two minutes)"
	$(PYTHON) -m venv .venv-airflow
	.venv-airflow/bin/pip install --quiet --disable-pip-version-check --editable '.[airflow,gx,elasticsearch,llm]' 'apache-airflow==3.3.2' \
	  'celery[redis]>=5.5,<5.7' apache-airflow-providers-celery apache-airflow-providers-redis apache-airflow-providers-postgres \
	  psycopg2-binary asyncpg 'pytest>=8'
	@touch $@

test-airflow: .venv-airflow/installed ## Run the tests of the Airflow provider and its DAGs
	.venv-airflow/bin/pytest tests/services/airflow/test_operators.py tests/services/airflow/test_plugin.py tests/services/airflow/test_dags.py

airflow: .venv-airflow/installed ## Start Airflow on loopback with the bundled sample to try; stop it by `make airflow-stop`
	@.venv-airflow/bin/python tests/services/airflow/harness/try_it.py start build/airflow

airflow-stop: ## Stop that Airflow and remove what it made
	@.venv-airflow/bin/python tests/services/airflow/harness/try_it.py stop build/airflow

test-airflow-services: .venv-airflow/installed ## Run the DAGs on real schedulers and workers (needs PostgreSQL, Redis, Chromium)
	.venv-airflow/bin/pytest tests/services/airflow/test_rest.py tests/services/airflow/test_standalone.py \
	  tests/services/airflow/test_screens.py tests/services/airflow/test_celery.py

vllm: $(VENV)/installed ## Start a real vLLM with a tiny model on loopback to try (6 GB, no GPU); stop it by `make vllm-stop`
	@$(BIN)/python tests/services/vllm/server.py start

vllm-stop: $(VENV)/installed ## Stop that vLLM
	@$(BIN)/python tests/services/vllm/server.py stop

test-vllm: $(VENV)/installed ## Run the tests that need a vLLM server, which is started on the CPU in an environment of its own
	$(BIN)/pytest tests/services/vllm

.venv-train/installed: pyproject.toml
	@echo "Setting up .venv-train (once; torch is several GB)"
	$(PYTHON) -m venv .venv-train
	.venv-train/bin/pip install --quiet --disable-pip-version-check --editable '.[train]' 'pytest>=8'
	@touch $@

test-train: .venv-train/installed ## Run the tests that train a judge (needs torch, which it installs)
	.venv-train/bin/pytest tests/services/train

elasticsearch: ## Start a real Elasticsearch on loopback to try (needs JDK 21 and Maven); stop it by `make elasticsearch-stop`
	@$(PYTHON) tests/services/elasticsearch/server.py start

elasticsearch-stop: ## Stop that Elasticsearch
	@$(PYTHON) tests/services/elasticsearch/server.py stop

test-elasticsearch: $(VENV)/installed ## Run the tests that need Elasticsearch (KGAUDIT_ES_URL, or a server that is started)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev,elasticsearch]'
	$(BIN)/pytest tests/es

test-elasticsearch-8: $(VENV)/installed ## Run a part of them with Elasticsearch 8.19 and its client, in an environment of its own
	$(PYTHON) -m venv .venv-es8
	.venv-es8/bin/pip install --quiet --disable-pip-version-check --editable '.[dev]' 'elasticsearch[async]>=8.19,<9'
	KGAUDIT_ES_VERSION=8.19.4 .venv-es8/bin/pytest tests/es/test_es_contract.py tests/es/test_es_index.py tests/es/test_es_foreign.py

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
	rm -rf $(VENV) .venv-gx .venv-train .venv-airflow .venv-vllm build .mypy_cache .ruff_cache .pytest_cache *.egg-info
