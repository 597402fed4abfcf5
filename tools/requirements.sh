#!/usr/bin/env bash
# Pins the packages of requirements/*.in and of its directories peers, identities, gateway, matrix and frameworks, their
# dependencies and the hash of every file, in the .txt files next to them. `tools/requirements.sh --upgrade` selects the newest
# versions.
set -euo pipefail
cd "$(dirname "$0")/../requirements"

uv=$PWD/../.ottla-build/uv
[[ -x $uv/bin/uv ]] || { ../.venv/bin/python -m venv "$uv" && "$uv/bin/pip" install --quiet uv==0.13.9; }

# Usage: pin FILE OLDEST_PYTHON [ARGUMENT ...]
pin() {
  local name=$1 python=$2
  shift 2
  {
    echo "# Made from ${name##*/}.in by \`make requirements\`, with the hash of every file that pip may take."
    "$uv/bin/uv" pip compile --quiet --universal --python-version "$python" --generate-hashes --no-header --no-annotate \
      "$@" "$name.in"
  } >"$name.txt.new"
  mv "$name.txt.new" "$name.txt"
}

for name in build dev; do pin "$name" 3.10 "$@"; done
pin audit 3.11 "$@" # zizmor needs it
# The newest releases of these have no wheels for 3.10, and nobody needs them there.
for name in peers/*.in; do pin "${name%.in}" 3.11 "$@"; done
# The SDKs of clouds and the schemas of Kubernetes, as references.
for name in identities/*.in gateway/*.in; do pin "${name%.in}" 3.11 "$@"; done
# Releases of Spark beside the one of dev.in.
for name in matrix/*.in; do pin "${name%.in}" 3.10 "$@"; done
# A framework runs without the client that it is written for; tests/support/frameworks.py installs the clients apart.
for name in frameworks/*.in; do
  name=${name%.in}
  without=(--no-emit-package aiokafka --no-emit-package confluent-kafka --no-emit-package kafka-python)
  [[ $name == */originals ]] && without=()
  pin "$name" 3.11 ${without[@]+"${without[@]}"} "$@"
done
