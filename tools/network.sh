#!/usr/bin/env bash
# Installs the tools of the network tests: iproute2 and nftables.
set -euo pipefail
if [[ $(uname) != Linux ]]; then
  echo "the network tests (of \`make deep\`) need Linux's network namespaces" >&2
  exit 0
fi
exec "$(dirname "$0")/install_packages.sh" 'the network tests' ip:iproute2 nft:nftables
