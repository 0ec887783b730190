# Start with `make help`. Every target first sets up what it needs and is missing.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
JOBS ?= 2
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
WEB := crisp/report/web
STATIC := crisp/report/static
MODULES := $(WEB)/node_modules

RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev
TORCH := $(VENV)/.torch
AIRFLOW := .venv-airflow/.installed
SHOP := .venv-shop/.installed
NPM := $(MODULES)/.installed
BUNDLE := $(MODULES)/.bundle

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

## Set-up

.PHONY: setup setup-torch setup-dev setup-browser setup-servers setup-airflow setup-shop
setup: $(RUNTIME) $(BUNDLE) ## virtual environment in .venv and the front-end bundle

setup-torch: setup $(TORCH) ## PyTorch, for networks in anomaly models; 5 GB

setup-dev: setup $(DEV) ## the same, and what tests and checks need

setup-servers: ## Jaeger, S3 and web servers for tests and the shop, built with Go, once for all clones
	@scripts/setup-servers >/dev/null

setup-airflow: $(AIRFLOW) ## Airflow in an environment of its own, .venv-airflow

setup-shop: $(SHOP) ## the example shop's packages in .venv-shop

setup-browser: ## Chromium for the browser tests, by apt-get when there is none
	@scripts/setup-browser

$(BIN)/pip:
	@PYTHON=$(PYTHON) scripts/check-tools
	@echo "setup: virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(RUNTIME): requirements/build.txt requirements/runtime.txt pyproject.toml | $(BIN)/pip
	@echo "setup: Python packages"
	@$(PIP) install --require-hashes -r requirements/build.txt -r requirements/runtime.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV): requirements/dev.txt $(RUNTIME)
	@echo "setup: Python packages for development"
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

$(TORCH): requirements/torch.txt $(RUNTIME)
	@echo "setup: PyTorch"
	@$(PIP) install --require-hashes -r requirements/torch.txt
	@touch $@

.venv-%/.installed: requirements/%.txt | $(BIN)/pip
	@echo "setup: Python packages for $*"
	@$(PYTHON) -m venv .venv-$*
	@.venv-$*/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r $<
	@touch $@

$(NPM): $(WEB)/package.json $(WEB)/package-lock.json
	@PYTHON=$(PYTHON) scripts/check-tools
	@echo "setup: npm packages"
	@cd $(WEB) && npm ci --silent --no-fund --no-audit
	@touch $@

WEB_SOURCES = $(shell find $(WEB) -name node_modules -prune -o -type f -print)
$(BUNDLE): $(NPM) $(WEB_SOURCES) $(if $(wildcard $(STATIC)/*.js),,no-bundle)
	@echo "setup: front-end bundle"
	@cd $(WEB) && npm run --silent build
	@touch $@

.PHONY: no-bundle
no-bundle:

## Every day

.PHONY: demo shop record up down test lint bench check docs build lock clean
demo: setup ## run the main job on example traces and name the page to open
	@$(BIN)/crisp demo -o demo-out

shop: setup-shop ## an example system under load, against a Jaeger of its own; ARGS="--fault slow-query"
	@.venv-shop/bin/python -m examples.shop $(ARGS)

record: setup-shop ## record examples/traces from the shop again; minutes
	@.venv-shop/bin/python -m examples.shop --record examples/traces $(ARGS)

up: ## Jaeger, the shop, Spark, Airflow, an object store and the site in containers; see docs/compose.md
	@deploy/up

down: ## stop them; what they collected stays
	@docker compose down

test: setup-dev setup-browser setup-servers setup-airflow setup-shop ## every test; ARGS="-k walk" passes options to pytest
	@echo "test: front end"
	@cd $(WEB) && npm run --silent test
	@echo "test: Python"
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup $(ARGS)

lint: setup-dev setup-shop setup-airflow ## ruff, import layers, mypy --strict, front-end lint and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy --strict
	$(BIN)/mypy --strict --python-executable .venv-shop/bin/python examples
	$(BIN)/mypy --strict --python-executable .venv-airflow/bin/python jobs/airflow_dags
	cd $(WEB) && npm run --silent lint

bench: setup-dev ## speed and memory beside json.load; prints one table
	@$(BIN)/python -m benchmarks $(ARGS)

check: lint test ## what CI runs

docs: $(RUNTIME) ## write docs/data-dictionary.md again from crisp/schema.py
	@$(BIN)/python -m scripts.data_dictionary

build: setup ## wheel and source distribution in dist/
	@$(BIN)/python -m hatchling build

lock: ## resolve requirements/*.txt again; they hold hashes and no index address
	@PYTHON=$(PYTHON) scripts/lock

clean: ## remove everything that make has made
	rm -rf $(VENV) .venv-airflow .venv-shop $(MODULES) $(STATIC) build dist demo-out
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
