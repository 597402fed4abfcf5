#!/usr/bin/env bash
# Pins the packages of requirements/*.in, their dependencies and the hash of every file, in the .txt files
# next to them. `tools/requirements.sh --upgrade` selects the newest versions.
set -euo pipefail
cd "$(dirname "$0")/../requirements"

uv=../.ottla-build/uv
[[ -x $uv/bin/uv ]] || { ../.venv/bin/python -m venv "$uv" && "$uv/bin/pip" install --quiet uv==0.13.9; }
for name in build dev; do
  {
    echo "# Made from $name.in by \`make requirements\`, with the hash of every file that pip may take."
    "$uv/bin/uv" pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-header --no-annotate \
      "$@" "$name.in"
  } >"$name.txt.new"
  mv "$name.txt.new" "$name.txt"
done
