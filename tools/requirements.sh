#!/usr/bin/env bash
# Pins the packages of requirements/*.in and requirements/peers/*.in, their dependencies and the hash of every
# file, in the .txt files next to them. `tools/requirements.sh --upgrade` selects the newest versions.
set -euo pipefail
cd "$(dirname "$0")/../requirements"

uv=../.ottla-build/uv
[[ -x $uv/bin/uv ]] || { ../.venv/bin/python -m venv "$uv" && "$uv/bin/pip" install --quiet uv==0.13.9; }
for name in build dev peers/kafka-python peers/aiokafka peers/confluent-kafka peers/faststream; do
  oldest=3.10
  # Their newest releases have no wheels for 3.10, and nobody needs these there.
  [[ $name != peers/* ]] || oldest=3.11
  {
    echo "# Made from ${name##*/}.in by \`make requirements\`, with the hash of every file that pip may take."
    "$uv/bin/uv" pip compile --quiet --universal --python-version $oldest --generate-hashes --no-header --no-annotate \
      "$@" "$name.in"
  } >"$name.txt.new"
  mv "$name.txt.new" "$name.txt"
done
