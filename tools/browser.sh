#!/usr/bin/env bash
# Installs the browser of the console's tests, unless there is one that they can use.
set -euo pipefail
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null; then exit 0; fi
done
exec "$(dirname "$0")/install_packages.sh" "the console's tests" chromium:chromium
