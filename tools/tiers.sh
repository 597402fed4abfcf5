#!/usr/bin/env bash
# tiers.sh TIER...: runs tiers of tests in order, each a make target in its own process. The first failed
# tier ends the run. At the end, prints the time of each tier and the tests that passed only when retried.
set -uo pipefail
cd "$(dirname "$0")/.."

flaky=.ottla-build/gate/flaky.md
mkdir -p "${flaky%/*}"
rm -f "$flaky"
times=()

minutes() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

finish() {
  printf '\n%-13s %s\n' tier 'min:s'
  printf '%s\n' "${times[@]}"
  printf '%-13s %6s\n' total "$(minutes $SECONDS)"
  if [[ -s $flaky ]]; then printf '\nFLAKY: failed, then passed alone\n%s\n' "$(<"$flaky")"; fi
}

for tier in "$@"; do
  printf '\n######## %s\n' "$tier"
  began=$SECONDS
  "${MAKE:-make}" --no-print-directory "$tier"
  status=$?
  times+=("$(printf '%-13s %6s%s' "$tier" "$(minutes $((SECONDS - began)))" "$( ((status)) && echo '  failed')")")
  if ((status)); then
    finish
    printf '\nfailed in the tier %s\n' "$tier"
    exit "$status"
  fi
done
finish
