# From a fresh clone with Python 3, gcc and make: everything else is installed into .venv, nothing outside.
#   make demo    make test    make bench    make fuzz    make format    make lint    make dev    make clean
# PY=/path/to/python uses that Python (with meson, ninja, pytest and torch in it) instead of .venv.

PYTHON ?= python3
PY ?= .venv/bin/python
BUILD ?= build
BIN := $(dir $(PY))
export PATH := $(abspath $(BIN)):$(PATH)
export PYTHONPATH := $(abspath $(BUILD)/python)

.PHONY: dev clean

# The library, the program, and a package to use in place: PYTHONPATH=build/python
dev: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet
	@$(PY) tools/dev_tree.py $(BUILD)

$(BUILD)/build.ninja: | $(PY)
	meson setup $(BUILD)

.venv/bin/python:
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check 'meson>=1.1' ninja meson-python pytest

clean:
	rm -rf build build-* .venv
