"""The gate compiles no crate twice: its extension and the Rust tests want the same features.

A feature that a test program adds to a dependency changes all crates above it. The engine would be
compiled again, which takes half a minute.
"""

from __future__ import annotations

import subprocess

from tests.support.jars import REPOSITORY

_EXTENSION = (
    "--package=ottla-python",
    "--features=shared-with-tests",
    "--edges=normal,no-proc-macro",
)
# The arguments of the Makefile's CARGO_TEST_ARGS.
_TESTS = ("--workspace", "--exclude=ottla-benches", "--edges=normal,dev,no-proc-macro")


def features(*arguments: str) -> dict[str, str]:
    """Return the features of each crate, as `cargo tree` resolves them."""
    command = ["cargo", "tree", "--locked", "--prefix=none", "--format={p}|{f}", *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    crates = (line.removesuffix(" (*)").partition("|") for line in done.stdout.splitlines() if line)
    return {crate: found for crate, _, found in crates}


def test_the_extension_and_the_rust_tests_share_their_crates() -> None:
    extension, tests = features(*_EXTENSION), features(*_TESTS)
    shared = {crate for crate in extension.keys() & tests.keys() if "ottla-python " not in crate}
    assert any(crate.startswith("ottla-client ") for crate in shared)
    different = {
        crate: {"extension": extension[crate], "tests": tests[crate]}
        for crate in sorted(shared)
        if extension[crate] != tests[crate]
    }
    # Add what a test needs to `shared-with-tests` in rust/python/Cargo.toml.
    assert different == {}
