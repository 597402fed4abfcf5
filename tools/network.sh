#!/usr/bin/env bash
# What the network tests make their networks with.
set -euo pipefail
if [[ $(uname) != Linux ]]; then
  echo "the network tests need Linux's network namespaces; leave them out with PYTEST_ARGS='-m \"not network\"'" >&2
  exit 0
fi
exec "$(dirname "$0")/debian.sh" 'the network tests' ip:iproute2 nft:nftables
