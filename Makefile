# `make demo` opens the app on the sample campaign, `make test` runs every test, `make bench` prints the measurements.
# The environment is made by the first command that needs it.
PYTHON ?= python3
VENV ?= .venv
RUN := $(VENV)/bin
WORKERS ?= auto
BROWSERS ?= 3
TREE := $(VENV)/tree/benthoscope
# Compiled modules are kept: the tests start hundreds of processes, and each would compile the program again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test bench peers check lint layers types javascript coverage docs clean

help:
	@echo "make demo    open the app on the sample campaign"
	@echo "make test    run every test"
	@echo "make bench   print the measured tables (ONLY=name for one of them)"
	@echo "make peers   install programs that benchmarks compare with, in an environment of their own"
	@echo "make check   check style, layers and types, and run the fast unit tests"
	@echo "make lint    check style, layers and types"
	@echo "make coverage  run the tests without a browser and report which lines they run"
	@echo "make docs    build the documentation into build/docs (works without a network once installed)"
	@echo "make clean   remove the environment"

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Benthoscope needs Python 3.11 or newer; run: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# One stamp per set of extras: an environment is only changed when the list of its packages has changed.
$(VENV)/.app: $(VENV)/bin/python pyproject.toml constraints.txt
	$(RUN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e '.[app]'
	@touch $@

$(VENV)/.test: $(VENV)/bin/python pyproject.toml constraints.txt
	$(RUN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e '.[test]'
	@touch $(VENV)/.app $@

$(VENV)/.docs: $(VENV)/bin/python pyproject.toml constraints.txt
	$(RUN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e '.[docs]'
	@touch $@

# import-linter, mypy and mkdocstrings read a package from one folder. The four folders of this package are at the root,
# so links put them together as they are in the wheel.
$(TREE): $(VENV)/bin/python Makefile
	@rm -rf $@ && mkdir -p $@
	@for folder in app assets engine sample_data; do ln -s "$(CURDIR)/$$folder" $@/$$folder; done
	@ln -s "$(CURDIR)/app/plots" $@/plots
	@for file in app/package/*.py app/package/py.typed; do ln -s "$(CURDIR)/$$file" $@/; done
	@touch $@

demo: $(VENV)/.app
	$(RUN)/benthoscope demo

# One process runs all tests of a file, so that each shared fixture is made once. The files with the longest tests come
# first by name.
PARALLEL := $(RUN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not browser"

# Browser tests run after the others: beside tests that keep all cores busy they would mostly wait. BROWSERS says how many
# run at once; each has a browser and servers of its own.
# Types are left to `make lint`: their number depends on the version of Python.
#
# Tests that fail (exit code 1) are tried once more, one at a time, and both results are printed. A test that fails twice
# fails the run. A test that passes only then depends on the load of the machine and needs a repair.
BROWSER := $(RUN)/python -m pytest -n $(BROWSERS) --dist loadfile --no-loadscope-reorder -m browser tests/browser
AGAIN := { [ $$? -eq 1 ] && echo "Second try of the tests that failed, one at a time:" && \
	$(RUN)/python -m pytest --last-failed --last-failed-no-failures none; }
test: layers
	$(RUN)/ruff check .
	$(PARALLEL) || $(AGAIN)
	$(BROWSER) || $(AGAIN)

bench: $(VENV)/.test
	$(RUN)/python -m tests.benchmarks $(ONLY)

# Other programs that benchmarks compare with; they are no dependencies of the project or of its tests.
peers: $(VENV)/.test
	$(PYTHON) -m venv $(VENV)/peers
	$(VENV)/peers/bin/python -m pip install --disable-pip-version-check -q -r tests/benchmarks/peers.txt

lint: layers types
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .

layers: $(VENV)/.test $(TREE)
	PYTHONPATH=$(VENV)/tree $(RUN)/lint-imports

types: $(VENV)/.test $(TREE)
	$(RUN)/python -m tests.checks.mypy_allowance $(VENV)/tree

javascript: $(VENV)/.test
	$(RUN)/python -m pytest -q tests/javascript

# Tests of the numerics, of whole jobs and of files that programs exchange are left to `make test`, and so are files of
# tests that simulate many campaigns or run whole commands. The rest needs about 90 seconds of one core.
FAST := tests/unit/project tests/unit/crowd tests/unit/labelling tests/unit/workspace
check: lint javascript
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(RUN)/python -m pytest -q -n 2 --dist loadfile \
		-m "not slow and not thorough and not postgres" $(FAST)

coverage: $(VENV)/.test
	$(PARALLEL) -q --cov --cov-report=term:skip-covered

# A broken link or a name that does not exist fails the build. (With --quiet, MkDocs would not count warnings.)
docs: $(VENV)/.docs $(TREE)
	PYTHONPATH=$(VENV)/tree NO_MKDOCS_2_WARNING=1 $(RUN)/python -m mkdocs build --strict --config-file docs/config/mkdocs.yml
	@echo "The documentation is in build/docs/index.html"

clean:
	rm -rf $(VENV)
