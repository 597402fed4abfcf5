#!/usr/bin/env bash
# What the network tests make their networks with.
set -euo pipefail
if [[ $(uname) != Linux ]]; then
  echo "the network tests, which are deep, need Linux's network namespaces" >&2
  exit 0
fi
exec "$(dirname "$0")/debian.sh" 'the network tests' ip:iproute2 nft:nftables
