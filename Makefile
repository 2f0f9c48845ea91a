# The only entry point: `make` lists what there is. Needs make and Python 3.11 or newer, nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-stamp
# The aws CLI pins a botocore of its own, so it gets a place of its own; only the end-to-end tests use it.
AWSCLI := $(VENV)/awscli/bin/aws

.DEFAULT_GOAL := help
.PHONY: help setup demo test fuzz check format bench docs new-service clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) $(AWSCLI) ## Make .venv with the engine and the tools for development (skipped when up to date)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "redrive needs Python 3.11 or newer; name one: make setup PYTHON=python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[engine,dev]'
	@touch $@

$(AWSCLI):
	@$(PYTHON) -m venv $(VENV)/awscli
	$(VENV)/awscli/bin/python -m pip install --quiet awscli

demo: $(STAMP) ## See redrive at work
	$(BIN)/redrive demo

test: setup ## Run the tests; make test k=NAME runs those whose name contains NAME
	$(BIN)/python -m pytest -n auto $(if $(k),-k '$(k)')

fuzz: setup ## Look for what breaks with new seeds: make fuzz t=SECONDS k=NAME (300 seconds by default)
	REDRIVE_FUZZ_SECONDS=$(or $(t),300) $(BIN)/python -m pytest tests/fuzz $(if $(k),-k '$(k)')

check: setup ## Lint, formatting, types, layers and tidiness
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest tests/tidy

format: setup ## Format the code and fix what the linter can fix
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench: setup ## Measure
	$(BIN)/python -m benchmarks

docs: setup ## Write the reference pages that follow from the code
	$(BIN)/python -m scripts.write_reference
	$(BIN)/python -m scripts.write_known_types

new-service: setup ## Lay out a service: make new-service NAME=sns
	$(BIN)/python scripts/new_service.py $(NAME)

clean: ## Remove .venv, caches and builds
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
