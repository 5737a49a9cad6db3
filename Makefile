# From a fresh clone with Python 3, gcc and make. What else is needed goes into .venv; nothing is written elsewhere.
#
#   make demo     builds everything and shows the main job on a built-in example
#   make test     every fast test
#   make bench    the figures of the README, measured here
#   make zoo      skeletons of all the models that are installed (about an hour)
#   make nightly  new seeds and samples for everything that generates its cases; SEED=n repeats a run (some hours)
#   make fuzz     fuzzes the readers: libFuzzer where clang is, a replay of the corpus otherwise; SECONDS=60 each
#   make format   clang-format over all C;  make lint: format, layers and file sizes, changing nothing
#   make web      the page without installation: build-web/pellucid.html (emscripten and node-acorn, of Debian)
#   make site     builds the documentation into build/site (mkdocs-material, in .venv)
#   make cross    compiles library and program for musl, aarch64, macOS and Windows (zig, from PyPI)
#   make wheels   Linux wheels for every Python that is here, repaired and tried in empty environments
#   make docs     writes docs/pellucid.1 anew, after a change of the program's options
#   make dev      build in place: build/pellucid, and PYTHONPATH=build/python for the package
#   make asan     the same with AddressSanitizer and UBSan in build-asan, and all C tests with it
#   make clean
#
# PYTHON=python3.12 chooses the Python that .venv is made from. PY=/path/to/python uses that environment as it is
# (it needs meson, ninja, pytest, and torch for the tests that use it).

PYTHON ?= python3
PY ?= .venv/bin/python
BUILD ?= build
SECONDS ?= 60
BIN := $(abspath $(dir $(PY)))
# Temporary files and caches stay inside the checkout too.
SCRATCH := $(CURDIR)/build-scratch
IN_ENV := mkdir -p "$(SCRATCH)" && PATH="$(BIN):$$PATH" TMPDIR="$(SCRATCH)" XDG_CACHE_HOME="$(SCRATCH)/cache" \
    PYTHONPATH="$(abspath $(BUILD))/python" PELLUCID="$(abspath $(BUILD))/pellucid"

.PHONY: demo test slow nightly bench zoo fuzz format lint docs site web cross wheels dev asan clean env env-torch env-zoo

dev: env $(BUILD)/build.ninja
	@$(IN_ENV) ninja -C $(BUILD) --quiet
	@$(PY) tools/dev_tree.py $(BUILD)

$(BUILD)/build.ninja: | env
	@$(IN_ENV) meson setup $(BUILD) $(MESON_ARGS) > $(BUILD).log 2>&1 || (cat $(BUILD).log; exit 1)
	@rm -f $(BUILD).log

env:
ifeq ($(PY),.venv/bin/python)
	@$(PYTHON) tools/setup_env.py
endif

env-torch:
ifeq ($(PY),.venv/bin/python)
	@$(PYTHON) tools/setup_env.py --torch
endif

env-zoo:
ifeq ($(PY),.venv/bin/python)
	@$(PYTHON) tools/setup_env.py --zoo
endif

demo: env-torch dev
	@$(IN_ENV) $(PY) -m pellucid demo -o $(BUILD)/demo

test: env-torch dev
	@$(IN_ENV) $(PY) tools/check.py test

# What .ci/run adds to the tests.
slow: env-zoo dev
	@$(IN_ENV) $(PY) tools/check.py slow

nightly: env-zoo dev
	@$(IN_ENV) SEED="$(SEED)" $(PY) tools/check.py nightly

bench: env-torch dev
	@$(IN_ENV) $(PY) tools/check.py bench

zoo: env-zoo dev
	@$(IN_ENV) $(PY) tools/zoo.py

fuzz: env
	@$(IN_ENV) $(PY) tools/fuzz.py --seconds $(SECONDS)

# The manual page, from the tables of the subcommands.
docs: dev
	@$(BUILD)/pellucid help --man > docs/pellucid.1

web: env
	@$(IN_ENV) $(PY) tools/web.py

cross: env
	@$(IN_ENV) $(PY) tools/cross.py

wheels: env
	@$(IN_ENV) $(PY) tools/wheels.py

site: env
	@$(IN_ENV) $(PY) -c 'import material, mkdocstrings, mkdocstrings_handlers.python, ruff' 2> /dev/null || $(PY) -m pip install --quiet \
	    --disable-pip-version-check 'mkdocs-material>=9.5,<10' 'mkdocstrings[python]>=0.26,<2' 'ruff>=0.6,<1'
	@$(IN_ENV) $(PY) -m mkdocs build --quiet --strict && echo 'site: build/site/index.html'

format: env
	@$(IN_ENV) $(PY) tools/lint.py --fix

lint: env
	@$(IN_ENV) $(PY) tools/lint.py

asan: env
	@$(MAKE) --no-print-directory dev PY=$(PY) BUILD=build-asan \
	    MESON_ARGS="-Db_sanitize=address,undefined -Dc_args=-fno-sanitize-recover=undefined -Dbuildtype=debugoptimized -Dpython=disabled -Db_lundef=false"
	@$(IN_ENV) meson test -C build-asan --print-errorlogs --quiet
	@$(IN_ENV) PELLUCID="$(abspath build-asan)/pellucid" $(PY) tests/run_golden.py

clean:
	rm -rf build build-* .venv
