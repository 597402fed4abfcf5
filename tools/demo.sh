#!/usr/bin/env bash
# Prepares and runs the demo. Prints each step and its duration; the tools' output goes to a log file, which
# is shown only if a tool fails.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly log=.ottla-build/log/demo.log
mkdir -p "${log%/*}"
: >"$log"

# prepare STEP DESCRIPTION TARGET: makes a target; prints nothing if it is up to date.
prepare() {
  if "${MAKE:-make}" --question --no-print-directory "$3" >/dev/null 2>&1; then return; fi
  printf 'Preparing, %s of 2: %s (log: %s)\n' "$1" "$2" "$log"
  local began=$SECONDS
  if ! "${MAKE:-make}" --no-print-directory "$3" >>"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    printf '\nfailed; the full output is in %s\n' "$log" >&2
    exit 1
  fi
  printf '  done in %d s\n' $((SECONDS - began))
}

prepare 1 'Python packages, about a minute' .venv/dev.stamp
prepare 2 'the Rust extension, about 6 minutes on 2 cores' .ottla-build/extension-release.stamp
exec .venv/bin/python -m ottla.demo
