# `make demo` opens the app on the sample campaign, `make test` runs every test, `make bench` prints the measurements.
PYTHON ?= python3
VENV ?= .venv
RUN := $(VENV)/bin
WORKERS ?= auto

.PHONY: help demo test bench lint clean

help:
	@echo "make demo    open the app on the sample campaign"
	@echo "make test    run every test"
	@echo "make bench   print the measured tables (ONLY=name for one of them)"
	@echo "make lint    style, layers"
	@echo "make clean   remove the environment"

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Benthoscope needs Python 3.11 or newer; run: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A stamp per set of extras: an environment is only touched again when what it must hold has changed.
$(VENV)/.app: $(VENV)/bin/python pyproject.toml constraints.txt
	$(RUN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e .
	@touch $@

$(VENV)/.test: $(VENV)/bin/python pyproject.toml constraints.txt
	$(RUN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e '.[test]'
	@touch $(VENV)/.app $@

demo: $(VENV)/.app
	$(RUN)/benthoscope demo

# Browser tests have the machine to themselves: beside a core full of sums they would wait more than test.
test: $(VENV)/.test
	$(RUN)/lint-imports
	$(RUN)/ruff check .
	$(RUN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "not browser"
	$(RUN)/python -m pytest -m browser tests/browser

bench: $(VENV)/.test
	$(RUN)/python -m tests.benchmarks $(ONLY)

lint: $(VENV)/.test
	$(RUN)/ruff check .
	$(RUN)/lint-imports

clean:
	rm -rf $(VENV)
