#!/usr/bin/env bash
# Checks all crates with cargo-deny, as configured in deny.toml: licences, duplicates, sources and, if the
# database can be fetched, advisories.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/cargo_tool.sh deny 0.20.2
export PATH=$PWD/.ottla-build/cargo/bin:$PATH
cargo deny --locked check --hide-inclusion-graph bans licenses sources
if git ls-remote --exit-code https://github.com/RustSec/advisory-db HEAD >/dev/null 2>&1; then
  cargo deny --locked check advisories
else
  echo 'the advisory database is unreachable: advisories were not checked' >&2
fi
