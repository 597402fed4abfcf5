# The one entry to building, testing and measuring ottla; `make help` lists it.
# Every target does its own set-up: tools into .venv, everything fetched or generated into
# .ottla-build, with stamps so that a second run reuses what the first one made.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := test
.NOTPARALLEL:
.DELETE_ON_ERROR:

PY := .venv/bin/python
EXTENSION := python/ottla/_core.abi3.so
# Directories too, so that a deleted file rebuilds.
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find rust -path rust/fuzz -prune -o \( -type d -o -name '*.rs' -o -name Cargo.toml \) -print)
STEP := @printf '\n==> %s\n'

export PYO3_PYTHON := $(CURDIR)/$(PY)
export VIRTUAL_ENV := $(CURDIR)/.venv
export OTTLA_ORACLE_DIR := $(CURDIR)/.ottla-build/oracle

# Extra arguments: make test PYTEST_ARGS='-k fetch' CARGO_TEST_ARGS='-p ottla-client'
PYTEST_ARGS ?=
CARGO_TEST_ARGS ?=
FUZZ_SECONDS ?= 30

.PHONY: help demo test test-rust test-python oracle jars network kerberos build lint fmt bench fuzz docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: check-demo $(EXTENSION) .venv/dev.stamp ## see it work, in the process or against OTTLA_BOOTSTRAP=host:port
	@$(PY) -m ottla.demo

test: check-test oracle jars network kerberos test-rust test-python ## all tests, Rust and Python, with real Kafka brokers (what CI runs; also plain `make`)

.PHONY: check-test check-demo
check-test check-demo: check-%:
	@tools/prerequisites.sh $*

test-rust: oracle ## the Rust tests alone
	$(STEP) 'cargo test'
	@cargo test --locked --workspace --exclude ottla-python --exclude ottla-benches $(CARGO_TEST_ARGS)

test-python: $(EXTENSION) .venv/dev.stamp jars network kerberos ## the Python tests alone
	$(STEP) 'pytest'
	@$(PY) $(if $(PYTEST_ARGS),-m pytest $(PYTEST_ARGS),-m tests.support.halves)

build: $(EXTENSION) ## the Python extension, into .venv

oracle: ## what Kafka's Java classes say about the protocol, for the Rust tests
	@tools/oracle.sh

jars: ## Kafka's brokers, today's and older ones, and Spark's own connector, for the Python tests
	@tools/jars.sh brokers spark kafka-3.9 kafka-2.8

network: ## iproute2 and nftables, for the tests in network namespaces
	@tools/network.sh

kerberos: ## MIT's Kerberos, for the tests of GSSAPI
	@tools/kerberos.sh

lint: $(EXTENSION) .venv/dev.stamp ## formatting, clippy, ruff, mypy, and the stubs against the binary
	$(STEP) 'cargo fmt, clippy'
	@cargo fmt --all --check
	@cargo clippy --locked --workspace --all-targets -- -D warnings
	$(STEP) 'ruff, mypy, stubtest'
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check
	@$(PY) -m mypy
	@$(PY) -m mypy.stubtest ottla._core

fmt: .venv/dev.stamp ## format Rust and Python
	@cargo fmt --all
	@$(PY) -m ruff check --fix --select I
	@$(PY) -m ruff format

bench: $(EXTENSION) .venv/dev.stamp jars ## the Rust scenarios, then ottla beside its peers on real brokers
	$(STEP) 'cargo bench'
	@cargo bench --locked -p ottla-benches
	$(STEP) 'peers'
	@$(PY) -m benches.peers.run
	@$(PY) -m benches.peers.produce
	@$(PY) -m benches.peers.latency
	@$(PY) -m benches.peers.consume
	@$(PY) -m benches.peers.delivery
	$(STEP) 'scale'
	@$(PY) -m benches.scale.run
	$(STEP) 'Spark'
	@$(PY) -m benches.spark.run

fuzz: ## every fuzz target for FUZZ_SECONDS seconds each, on stable Rust
	@tools/fuzz.sh $(FUZZ_SECONDS)

docs: $(EXTENSION) ## docs/configuration.md, and the Rust crates' documentation; a broken link fails
	@$(PY) tools/config_table.py
	@RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps --exclude ottla-python

clean: ## everything this Makefile made
	@rm -rf .venv .ottla-build target rust/fuzz/target .pytest_cache .mypy_cache .ruff_cache
	@rm -f python/ottla/_core.*.so

.venv/build.stamp: requirements-build.txt tools/venv.sh
	@tools/prerequisites.sh build
	@tools/venv.sh requirements-build.txt
	@touch $@

.venv/dev.stamp: requirements-dev.txt .venv/build.stamp
	@tools/venv.sh requirements-dev.txt
	@touch $@

$(EXTENSION): $(RUST_SOURCES) pyproject.toml .venv/build.stamp
	$(STEP) 'building the extension (the first time takes minutes)'
	@.venv/bin/maturin develop --release --locked
	@touch $@
