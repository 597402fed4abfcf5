#!/usr/bin/env bash
# cargo_tool.sh NAME VERSION: installs this version of the cargo subcommand NAME into .ottla-build/cargo/bin.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly name=$1 version=$2 root=$PWD/.ottla-build/cargo
if [[ $("$root/bin/cargo-$name" "$name" --version 2>/dev/null || "$root/bin/cargo-$name" --version 2>/dev/null) == *" $version" ]]; then exit 0; fi
echo "installing cargo-$name $version into .ottla-build"
cargo install --quiet --locked --root "$root" --version "$version" "cargo-$name"
