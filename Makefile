# Everything runs in the private environment .venv, which .ci/setup makes on first use and then
# leaves alone. Name a Python with PYTHON=..., pass options with ARGS="...".
.PHONY: setup chat test test-slow test-all lint types bench gallery commands families pin

BIN := .venv/bin
export PYTHON

setup:
	@sh .ci/setup

chat: setup
	@$(BIN)/specchat $(ARGS)

test: setup
	$(BIN)/python -m pytest -m "not slow" -n auto --maxprocesses 4 --dist loadfile $(ARGS)

# Exit code 5 says that no test is marked slow.
test-slow: setup
	$(BIN)/python -m pytest -m slow $(ARGS) || test $$? -eq 5

test-all: setup
	$(BIN)/python -m pytest $(ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

bench: setup
	$(BIN)/specchat bench $(ARGS)

gallery: setup
	$(BIN)/python -m docs.gallery

commands: setup
	$(BIN)/python -m docs.commands

families: setup
	PYTHONPATH=tests $(BIN)/python -m docs.families

pin:
	sh .ci/pin
