#!/usr/bin/env bash
# Installs the command-line tools that benches/command_line compares and that are packages: kcat of the system,
# and kaf as a Go module. rpk and kafkactl must be on PATH; the comparison says if one is missing.
set -euo pipefail

readonly kaf=v0.2.14 directory=$PWD/.ottla-build/command-line-tools
"$(dirname "$0")/install_packages.sh" 'the comparison of command lines' kcat:kcat
[[ -x $directory/kaf ]] && exit 0
if ! command -v go >/dev/null; then
  echo 'the comparison of command lines needs Go 1.26 or newer for kaf: install it from https://go.dev/dl' >&2
  exit 0
fi
printf '\n==> building kaf %s\n' "$kaf"
module=$(mktemp -d)
trap 'rm -rf "$module"' EXIT
mkdir -p "$directory"
cd "$module"
go mod init tools 2>/dev/null
go mod edit -require "github.com/birdayz/kaf@$kaf"
go build -mod=mod -o "$directory/kaf" github.com/birdayz/kaf/cmd/kaf
