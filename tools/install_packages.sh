#!/usr/bin/env bash
# install_packages.sh USER COMMAND:PACKAGE...: installs the packages whose commands are missing, if running as
# root with apt. Otherwise it prints what to install for USER, such as 'the network tests'; these then fail
# with the same advice.
set -euo pipefail

readonly user=$1
shift
missing=()
for pair in "$@"; do
  command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
((${#missing[@]})) || exit 0

if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
  echo "$user need ${missing[*]}: install them with your system's package manager" >&2
  exit 0
fi
printf '\n==> installing %s\n' "${missing[*]}"
# In a session of its own: a tier that fails ends this script, but an interrupted dpkg would need repair.
# A machine that has just started may still hold apt's lock.
install() { DEBIAN_FRONTEND=noninteractive setsid --wait apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends "${missing[@]}" >/dev/null; }
for attempt in 1 2 3; do
  # The package lists may be missing or outdated.
  if install || { apt-get -o DPkg::Lock::Timeout=120 update >/dev/null && install; }; then exit 0; fi
  echo "  attempt $attempt failed" >&2
  sleep $((attempt * 2))
done
exit 1
