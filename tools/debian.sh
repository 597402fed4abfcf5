#!/usr/bin/env bash
# debian.sh WHO COMMAND:PACKAGE...: installs the packages whose commands this machine lacks, where it
# may: as root with apt. Elsewhere it says what to install; the tests that need it then fail and say
# the same.
set -euo pipefail

readonly who=$1
shift
missing=()
for pair in "$@"; do
  command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
((${#missing[@]})) || exit 0

if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
  echo "$who need ${missing[*]}: install them with your system's package manager" >&2
  exit 0
fi
printf '\n==> installing %s\n' "${missing[*]}"
# A machine that has just started may be installing something of its own.
install() { DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends "${missing[@]}" >/dev/null; }
for attempt in 1 2 3; do
  # The package lists may be missing, or older than what the mirrors keep.
  if install || { apt-get -o DPkg::Lock::Timeout=120 update >/dev/null && install; }; then exit 0; fi
  echo "  attempt $attempt failed" >&2
  sleep $((attempt * 2))
done
exit 1
