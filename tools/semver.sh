#!/usr/bin/env bash
# Compares the Rust API of the crates for users with that of the last release: a patch release breaks no program. Without a
# release, there is nothing to compare with.
set -euo pipefail
cd "$(dirname "$0")/.."

# ottla-faults is part of the API of ottla-mock. The other crates that are published are no user's (docs/design/releases.md).
readonly crates=(ottla-protocol ottla-faults ottla-mock ottla-client)
release=$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true)
printf '\n==> the Rust API, compared with %s\n' "${release:-no release: none was made}"
[[ -n $release ]] || exit 0
tools/cargo_tool.sh semver-checks 0.51.0
export PATH=$PWD/.ottla-build/cargo/bin:$PATH
cargo semver-checks --baseline-rev "$release" "${crates[@]/#/--package=}"
