# Works with GNU make 3.81 (macOS) and later. PYTHON chooses the interpreter, ARGS is passed on.
#   make lab ARGS="--no-browser --port 8890"      make test ARGS="-k ch04"

GIVEN_PYTHON := $(PYTHON)
ifeq ($(GIVEN_PYTHON),)
PYTHON := python3
endif
ARGS ?=

VENV := .venv/bin/python
INSTALL := $(PYTHON) -I lanewise/install.py
# clang's counters are approximate (macOS), so the notebooks there run without comparing outputs.
NBVAL := $(if $(filter Darwin,$(shell uname)),--nbval-lax,--nbval)
# A worker a core; a file stays with one worker, so that a notebook keeps its kernel. ARGS="-n 0" runs them one by one.
PARALLEL := -n auto --dist loadfile

# `make gpu PYTHON=python3` runs on that interpreter as it is; without PYTHON it runs in .venv.
GPU_PYTHON := $(if $(GIVEN_PYTHON),$(GIVEN_PYTHON),$(VENV))

.PHONY: help lab test fast check build gpu bench bench-gpu doctor clean

help:
	@echo "make lab        install what is missing and open JupyterLab on chapter 1"
	@echo "make test       the whole test suite, notebooks included"
	@echo "make fast       the quick tests, at most a minute"
	@echo "make check      ruff, mypy, skeletons and notebooks equal their sources"
	@echo "make build      skeletons and notebooks from their sources"
	@echo "make gpu        the same kernels on this machine's GPU, compared"
	@echo "make bench      the simulator timed, results/simulator.json"
	@echo "make bench-gpu  the GPU ladders timed"
	@echo "make doctor     what this machine has, what it lacks, what to do"
	@echo "make clean      remove .venv and caches; work/ stays"
	@echo "PYTHON=python3.12 chooses the interpreter, ARGS=\"...\" is passed on."

lab:
	@$(INSTALL) lab -- $(ARGS)

test:
	@$(INSTALL) dev
	LANEWISE_DEVICE=simulator $(VENV) -m pytest $(PARALLEL) $(NBVAL) --ignore=tests/gpu tests chapters $(ARGS)

fast:
	@$(INSTALL) dev
	LANEWISE_DEVICE=simulator $(VENV) -m pytest $(PARALLEL) -m "not slow" --ignore=tests/gpu tests $(ARGS)

check:
	@$(INSTALL) dev
	$(VENV) -m ruff check .
	$(VENV) -m mypy
	$(VENV) -m lanewise check $(ARGS)

build:
	@$(INSTALL) dev
	$(VENV) -m lanewise build $(ARGS)

gpu:
	@$(if $(GIVEN_PYTHON),true,$(INSTALL) dev)
	$(GPU_PYTHON) tests/gpu $(ARGS)

bench:
	@$(INSTALL) bench
	$(VENV) -m lanewise bench $(ARGS)

bench-gpu:
	@$(if $(GIVEN_PYTHON),true,$(INSTALL) bench)
	$(GPU_PYTHON) -m lanewise bench --gpu $(ARGS)

doctor:
	@$(INSTALL) lab
	@$(VENV) -m lanewise.doctor

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
