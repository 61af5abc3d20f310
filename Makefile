# Everything happens in ./.venv (and ./.venv-peers); python3 >= 3.11 and make are all that a machine needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-slow test-peers check lint types lock clean bench bench-suites

$(VENV)/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "flashevolve needs Python >= 3.11, found $$($(PYTHON) --version). Try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

demo: $(VENV)/.installed  ## evolve a prompt with the built-in simulated model
	$(BIN)/flashevolve run examples/instructions/run.toml
	$(BIN)/flashevolve show

test: $(VENV)/.installed  ## the fast tests
	$(BIN)/python -m pytest -n 2

test-slow: $(VENV)/.installed  ## the suites that take minutes
	$(BIN)/python -m pytest -n 2 -m slow

$(VENV)-peers/.installed: requirements-peers.txt requirements-peers-nodeps.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)-peers
	$(VENV)-peers/bin/python -m pip install --quiet -r requirements-peers.txt -e '.[instructions]'
	$(VENV)-peers/bin/python -m pip install --quiet --no-deps -r requirements-peers-nodeps.txt
	@touch $@

test-peers: $(VENV)-peers/.installed  ## the tests against large peers, in an environment of their own
	$(VENV)-peers/bin/python -m pytest -m peers

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed
	$(BIN)/mypy

check: lint types test  ## exactly what CI runs

bench: $(VENV)/.installed  ## speed and size, printed with spread; minutes
	$(BIN)/python benchmarks/reference_cell.py --seeds 3
	$(BIN)/python benchmarks/reference_cell.py --seeds 3 --preset hosted-api
	$(BIN)/python benchmarks/engine_overhead.py
	$(BIN)/python benchmarks/http_client.py
	$(BIN)/python benchmarks/real_http.py
	$(BIN)/python benchmarks/virtual_time.py
	$(BIN)/python benchmarks/world.py
	$(BIN)/python benchmarks/footprint.py
	$(BIN)/python benchmarks/throughput.py
	$(BIN)/python benchmarks/gain_coverage.py

SEEDS_OF := throughput:5 evolution:100 staleness:100 speculation:100 workers:100 scaling:3 profile:3
bench-suites: $(VENV)/.installed  ## all comparisons at full seeds, and their page; hours
	set -e; for suite in $(SEEDS_OF); do \
		$(BIN)/flashevolve bench $${suite%:*} --seeds $${suite#*:} --rows benchmarks/rows; done
	$(BIN)/python docs/make_benchmarks.py

lock:  ## refresh requirements.lock (needs uv)
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header -o requirements.lock

clean:
	rm -rf $(VENV) $(VENV)-peers .mypy_cache .ruff_cache .pytest_cache .hypothesis
