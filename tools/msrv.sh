#!/usr/bin/env bash
# Checks that the crates compile with the oldest Rust that Cargo.toml promises.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
rustup toolchain install "$version" --profile minimal
CARGO_TARGET_DIR=target/msrv cargo "+$version" check --locked --workspace --all-features
