#!/usr/bin/env bash
# Installs what the network tests make their networks with, iproute2 and nftables, where this
# machine lacks them and it may: as root with apt. Elsewhere it says what to install; the tests
# that need it then fail and say the same.
set -euo pipefail

missing=()
command -v ip >/dev/null || missing+=(iproute2)
command -v nft >/dev/null || missing+=(nftables)
((${#missing[@]})) || exit 0

if [[ $(uname) != Linux ]]; then
  echo "the network tests need Linux's network namespaces; leave them out with PYTEST_ARGS='-m \"not network\"'" >&2
  exit 0
fi
if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
  echo "the network tests need ${missing[*]}: install them with your system's package manager" >&2
  exit 0
fi
printf '\n==> installing %s\n' "${missing[*]}"
install() { DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" >/dev/null; }
for attempt in 1 2 3; do
  # The package lists may be missing, or older than what the mirrors keep.
  if install || { apt-get update >/dev/null && install; }; then exit 0; fi
  echo "  attempt $attempt failed" >&2
  sleep $((attempt * 2))
done
exit 1
