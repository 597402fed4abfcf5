#!/usr/bin/env bash
# Installs the browser of the console's tests.
set -euo pipefail
exec "$(dirname "$0")/install_packages.sh" "the console's tests" chromium:chromium
