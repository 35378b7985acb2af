# Two commands: `make run` opens the app, `make test` checks everything. Both set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.done
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: run test env chromium lint bench shots clean

env: $(STAMP)

$(STAMP): requirements.lock
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"'
	$(PYTHON) -m venv $(VENV)
	( $(BIN)/python -m pip install -q uv && $(BIN)/uv pip install -q --python $(BIN)/python -r requirements.lock ) || $(BIN)/python -m pip install -q -r requirements.lock
	touch $@

run: env
	$(BIN)/python -m streamlit run app.py

chromium:
	@sh scripts/ensure_chromium.sh

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: env chromium lint
	$(BIN)/python -m pytest -n 2 --dist loadfile tests

bench: env
	$(BIN)/python -m tests.benchmarks

shots: env chromium
	$(BIN)/python -m scripts.screenshots

clean:
	rm -rf $(VENV) static/plotly.min.js static/figure-* .pytest_cache .mypy_cache .ruff_cache .hypothesis
