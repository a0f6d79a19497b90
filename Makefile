.PHONY: setup chat test lint
