#!/usr/bin/env bash
# tiers.sh TIER...: runs tiers of tests in order, each a make target in its own process. The first failed
# tier ends the run. At the end, prints the time of each tier and the tests that passed only when retried.
# During the first tier, fetches what the others need: each of them waits for that, and fetches what is missing.
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

fetched=.ottla-build/log/downloads.log
mkdir -p "${fetched%/*}"
# In a process group, so that it ends as a whole if the first tier fails.
set -m
nice "${MAKE:-make}" --no-print-directory downloads >"$fetched" 2>&1 </dev/null &
downloads=$!
set +m
trap 'kill -- "-$downloads" 2>/dev/null || true' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

for tier in "$@"; do
  printf '\n######## %s\n' "$tier"
  began=$SECONDS
  if [[ $tier != "$1" && -n $downloads ]]; then
    if kill -0 "$downloads" 2>/dev/null; then echo "waiting for downloads, whose log is $fetched"; fi
    wait "$downloads" || echo 'some downloads failed: this tier or a later one repeats them'
    cat "$fetched"
    downloads=
    trap - EXIT
  fi
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
