#!/usr/bin/env bash
# Checks all crates by deny.toml: licences, duplicates, sources and, where the database of advisories can
# be fetched, those.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/cargo_tool.sh deny 0.20.2
export PATH=$PWD/.ottla-build/cargo/bin:$PATH
cargo deny --locked check --hide-inclusion-graph bans licenses sources
if git ls-remote --exit-code https://github.com/RustSec/advisory-db HEAD >/dev/null 2>&1; then
  cargo deny --locked check advisories
else
  echo 'the database of advisories cannot be reached: advisories were not checked' >&2
fi
