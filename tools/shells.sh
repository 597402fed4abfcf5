#!/usr/bin/env bash
# Installs the shells of the tests of completion, other than bash.
set -euo pipefail
exec "$(dirname "$0")/install_packages.sh" 'the tests of completion' zsh:zsh fish:fish
