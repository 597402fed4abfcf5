# The entry point for building, testing and measuring ottla; `make help` lists the targets.
# Every target does its own set-up: tools go into .venv, fetched and generated files into .ottla-build.
# Stamps let later runs reuse them.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := test
.NOTPARALLEL:
.DELETE_ON_ERROR:

PY := .venv/bin/python
# Includes directories, so that deleting a file triggers a rebuild.
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find rust -path rust/fuzz -prune -o \( -type d -o -name '*.rs' -o -name Cargo.toml \) -print)
# The extension as the gate builds it, in seconds, and as users get it. The last one built is installed.
QUICK := .ottla-build/extension-dev.stamp
OPTIMISED := .ottla-build/extension-release.stamp
STEP := @printf '\n==> %s\n'

export PYO3_PYTHON := $(CURDIR)/$(PY)
export VIRTUAL_ENV := $(CURDIR)/.venv
# Only a later build gains from incremental compilation, and CI has none.
ifdef CI
export CARGO_INCREMENTAL := 0
endif
export OTTLA_ORACLE_DIR := $(CURDIR)/.ottla-build/oracle
# Images of containers often set it. Without the files, every worker of pytest compiles every test, and every
# command line that a test starts compiles ottla.
unexport PYTHONDONTWRITEBYTECODE

# Extra arguments: make pytest ARGS='tests/mock -k fetch', make test-rust CARGO_TEST_ARGS='-p ottla-client'
ARGS ?=
# Suites of make peer-suites; all by default.
SUITE ?=
# With ottla-python, which has no test program: the crates get the features of the extension, compiled before.
CARGO_TEST_ARGS ?= --workspace --exclude ottla-benches --tests
FUZZ_SECONDS ?= 30
SEEDS ?= 1000
TIERS := check test-rust test-python test-broker test-spark
PYTEST_TIER := $(PY) -m tests.gate.pytest_tier

.PHONY: help demo test $(TIERS) deep soak matrix matrix-sample command-lines command-line-peers frameworks framework-environments pytest unit peer-suites oracle jars older-jars sample-environment apicurio network kerberos gateway-tools valgrind browser shells console-assets wheel reproducible publish-rehearsal build lint fmt audit audit-packages requirements bench instructions msrv fuzz docs site clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: check-demo ## run the demo, on a mock cluster or with OTTLA_BOOTSTRAP=host:port
	@MAKE='$(MAKE)' tools/demo.sh

test: check-test .venv/build.stamp ## the gate: all tiers below, as in CI; also plain `make`
	@MAKE='$(MAKE)' tools/tiers.sh $(TIERS)

# What tiers after the first one fetch or generate, if nothing did so before.
downloads: oracle jars browser shells sample-environment

# Two at once, since compiling the largest crates occupies one core: the packages of Python and what needs no
# extension beside the extension, then clippy beside the unit tests, none of which measures the time that passes.
check: .venv/build.stamp ## tier 1: format, lints, types, stubs, unit tests
	@tools/side_by_side.sh '$(MAKE) --no-print-directory $(QUICK)' '$(MAKE) --no-print-directory lint-python'
	@tools/side_by_side.sh '$(MAKE) --no-print-directory stubs unit' '$(MAKE) --no-print-directory lint-rust'

test-rust: oracle ## tier 2: the engine's tests, in Rust
	$(STEP) 'cargo test'
	@$(PY) -m tests.gate.cargo_tier test-rust --locked $(CARGO_TEST_ARGS)

test-python: $(QUICK) .venv/dev.stamp console-assets browser shells ## tier 3: Python on the mock cluster, no JVM
	$(STEP) 'pytest on the mock'
	@$(PYTEST_TIER) test-python
	@$(PY) -m tests.matrix.sample

test-broker: $(QUICK) .venv/dev.stamp jars console-assets browser ## tier 4: three real brokers, security, older Kafka
	$(STEP) 'pytest on real brokers'
	@$(PYTEST_TIER) test-broker

test-spark: $(QUICK) .venv/dev.stamp jars ## tier 5: one Spark session, compared with Spark's own source
	$(STEP) 'pytest in Spark'
	@$(PYTEST_TIER) test-spark

deep: check-test $(OPTIMISED) .venv/dev.stamp oracle jars older-jars apicurio framework-environments network kerberos gateway-tools valgrind command-line-peers console-assets browser ## the slow tests, before a release; writes a report
	@$(PY) -m tests.gate.deep --seeds $(SEEDS) $(ARGS)

soak: check-test $(OPTIMISED) .venv/dev.stamp jars ## hours under faults, in which nothing grows or is lost: make soak ARGS='--minutes 360 --page'
	@$(PY) -m tests.soak $(ARGS)

peer-suites: check-test $(OPTIMISED) .venv/dev.stamp jars ## other clients' own test suites on the stand-ins: make peer-suites SUITE=aiokafka
	@$(PY) -m tests.peer_suites $(SUITE) $(ARGS)

command-lines: check-test $(OPTIMISED) .venv/dev.stamp jars command-line-peers ## daily tasks and failures with ottla, kcat, rpk, kaf, kafkactl
	@$(PY) -m benches.command_line.run $(ARGS)

matrix: check-test $(QUICK) .venv/dev.stamp oracle jars console-assets browser shells ## the tests on other Pythons, Sparks and Kafkas: make matrix ARGS='python-3.13 kafka-3.9'
	@$(PY) -m tests.matrix $(ARGS)
	@$(PY) tools/matrix_page.py

matrix-sample: $(QUICK) .venv/dev.stamp console-assets browser shells ## the part of the matrix that the gate runs today, or on another day: ARGS=2026-11-27
	@$(PY) -m tests.matrix.sample $(ARGS)

frameworks: check-test $(QUICK) .venv/dev.stamp jars framework-environments ## the part of `make deep` with FastStream, Celery and others
	@$(PY) -m tests.gate.deep frameworks

pytest: .venv/dev.stamp ## any Python tests: make pytest ARGS='tests/mock -k scan'
	@[[ -e python/ottla/_core.abi3.so ]] || $(MAKE) --no-print-directory $(QUICK)
	@$(PY) -m pytest $(ARGS)

unit: $(QUICK) .venv/dev.stamp
	$(STEP) 'unit tests'
	@$(PYTEST_TIER) check

.PHONY: check-test check-demo formatted lint-python lint-rust stubs downloads
check-test check-demo: check-%:
	@tools/prerequisites.sh $*

wheel: .venv/build.stamp console-assets ## a wheel for Linux, tested in a clean venv of each Python
	@tools/wheel.sh

reproducible: .venv/build.stamp console-assets ## two builds of the wheel of the last commit, compared
	@tools/reproducible.sh

publish-rehearsal: .venv/build.stamp ## what publishing the crates does, without the upload
	@tools/publish_rehearsal.sh

build: $(OPTIMISED) ## the extension as users get it, into .venv

oracle: .venv/build.stamp ## reference data from Kafka's Java classes and others, for Rust's tests
	@tools/oracle.sh

jars: .venv/build.stamp ## real brokers and Spark's own connector
	@tools/jars.sh brokers spark kafka-2.8
	@$(PY) -m tests.support.class_archive

older-jars:
	@tools/jars.sh kafka-4.3 kafka-3.9

apicurio:
	@tools/jars.sh apicurio

framework-environments: .venv/dev.stamp
	@$(PY) -m tests.support.frameworks

# Beside the first tier, which installs the packages of .venv: it needs none of them.
sample-environment: .venv/build.stamp
	@$(PY) -m tests.matrix.sample --prepare

network:
	@tools/network.sh

command-line-peers:
	@tools/command_line_peers.sh

valgrind:
	@tools/install_packages.sh "the counts of instructions" valgrind:valgrind

gateway-tools:
	@tools/gateway_tools.sh

kerberos:
	@tools/kerberos.sh

browser:
	@tools/browser.sh

shells:
	@tools/shells.sh

console-assets: .ottla-build/console-assets.stamp ## the chart library of the console's page, from npm
.ottla-build/console-assets.stamp: tools/console_assets.sh tools/console_assets/package-lock.json .venv/dev.stamp
	@tools/console_assets.sh
	@touch $@

lint: .venv/build.stamp ## format, clippy, ruff, mypy, stubs against the binary
	@tools/side_by_side.sh '$(MAKE) --no-print-directory $(QUICK) lint-rust' '$(MAKE) --no-print-directory lint-python'
	@$(MAKE) --no-print-directory stubs

lint-python: formatted
	$(STEP) 'mypy, twins, import circles, the public API, links of the documentation'
	@$(PY) -m mypy
	@$(PY) tools/twins.py --check
	@$(PY) tools/import_circles.py
	@$(PY) tools/public_api.py --check
	@tools/site.sh --check

lint-rust:
	$(STEP) 'clippy'
	@cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
	@cargo clippy --quiet --locked -p ottla-client --no-default-features -- -D warnings

stubs: $(QUICK) .venv/dev.stamp
	$(STEP) 'stubtest'
	@$(PY) tools/check_stubs.py

formatted: .venv/dev.stamp
	$(STEP) 'cargo fmt, ruff'
	@cargo fmt --all --check
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check

requirements: .venv/build.stamp ## pinned and hashed Python packages, from requirements/*.in
	@tools/requirements.sh

audit: ## licences, sources, advisories of all crates, by cargo-deny
	@tools/audit.sh

audit-packages: ## known flaws of Python and npm packages, and the workflows
	@tools/audit_packages.sh

fmt: .venv/dev.stamp ## format Rust and Python
	@cargo fmt --all
	@$(PY) -m ruff check --fix --select I
	@$(PY) -m ruff format

instructions: $(OPTIMISED) .venv/dev.stamp valgrind ## count the instructions of the hot loops, and compare with the kept counts
	@$(PY) -m benches.instructions $(ARGS)

bench: $(OPTIMISED) .venv/dev.stamp jars ## Rust scenarios, then ottla and other clients on brokers
	$(STEP) 'cargo bench'
	@cargo bench --locked -p ottla-benches
	$(STEP) 'peers'
	@$(PY) -m benches.peers.run
	@$(PY) -m benches.peers.produce
	@$(PY) -m benches.peers.latency
	@$(PY) -m benches.peers.consume
	@$(PY) -m benches.peers.delivery
	@$(PY) -m benches.peers.defaults
	@$(PY) -m benches.peers.backlog
	@$(PY) -m benches.peers.age
	@$(PY) -m benches.peers.transactions
	@$(PY) -m benches.peers.share
	@$(PY) -m benches.peers.schema
	$(STEP) 'gateway'
	@$(PY) -m benches.gateway.run
	$(STEP) 'scale'
	@$(PY) -m benches.scale.run
	$(STEP) 'console'
	@$(PY) -m benches.console.run
	$(STEP) 'Spark'
	@$(PY) -m benches.spark.run

msrv: ## the crates compile with the oldest Rust that Cargo.toml promises
	@tools/msrv.sh

fuzz: ## every fuzz target for FUZZ_SECONDS seconds each
	@tools/fuzz.sh $(FUZZ_SECONDS)

docs: $(QUICK) .venv/dev.stamp ## what is generated: pages, config_types.py, the stubs' docstrings, crates' docs
	@$(PY) tools/config_table.py
	@$(PY) tools/config_types.py
	@$(PY) tools/error_codes.py
	@$(PY) tools/command_schemas.py
	@$(PY) tools/gateway_options.py
	@$(PY) tools/verdicts_page.py
	@$(PY) tools/set_ups_page.py
	@$(PY) tools/matrix_page.py
	@$(PY) tools/llms_txt.py
	@$(PY) tools/notebooks.py
	@$(PY) tools/stub_docstrings.py
	@$(PY) tools/twins.py
	@$(PY) tools/public_api.py --write
	@RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps --exclude ottla-python

site: $(QUICK) .venv/dev.stamp ## the documentation site, in .ottla-build/site
	@tools/site.sh

clean: ## remove everything that this Makefile creates
	@rm -rf .venv .ottla-build target rust/fuzz/target .pytest_cache .mypy_cache .ruff_cache
	@rm -f python/ottla/_core.*.so
	@find python tests benches tools -name __pycache__ -prune -exec rm -rf {} +

.venv/build.stamp: requirements/build.txt tools/venv.sh
	@tools/prerequisites.sh build
	@tools/venv.sh requirements/build.txt
	@touch $@

.venv/dev.stamp: requirements/dev.txt .venv/build.stamp
	@tools/venv.sh requirements/dev.txt
	@touch $@

$(QUICK) $(OPTIMISED): .ottla-build/extension-%.stamp: $(RUST_SOURCES) pyproject.toml .venv/build.stamp
	$(STEP) 'building the extension ($*)'
	@.venv/bin/maturin develop --locked --profile $* $(if $(filter dev,$*),--features shared-with-tests)
	@rm -f .ottla-build/extension-*.stamp
	@touch $@
