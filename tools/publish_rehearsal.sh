#!/usr/bin/env bash
# Does what publishing the crates does, but for the upload: runs the programs of their READMEs, builds their documentation
# without a warning, packs them, builds each from its package as crates.io will have it, and compares their API with that of the
# last release. The log is .ottla-build/publish.log, and the lists of files are next to it.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p .ottla-build/packages
exec > >(tee .ottla-build/publish.log) 2>&1
mapfile -t crates < <(.venv/bin/python tools/published_crates.py)
selected=("${crates[@]/#/--package=}")
step() { printf '\n==> %s\n' "$*"; }

step 'the programs of the READMEs'
cargo test --locked --doc "${selected[@]}"
step 'the documentation'
RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps --all-features "${selected[@]}"
step 'the packages'
for crate in "${crates[@]}"; do
  # A rehearsal may come before the commit; the release workflow has nothing that is not committed.
  cargo package --allow-dirty --list --package "$crate" >".ottla-build/packages/$crate.txt"
  printf '%-16s %4d files\n' "$crate" "$(wc -l <".ottla-build/packages/$crate.txt")"
done
step 'cargo publish --dry-run'
cargo publish --dry-run --allow-dirty --locked "${selected[@]}"
tools/semver.sh
step 'the crates can be published'
