#!/usr/bin/env bash
# venv.sh FILE: creates .venv if it is missing or its interpreter was removed, and installs a requirements file.
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=$1
mkdir -p .ottla-build
if ! .venv/bin/python -c '' 2>/dev/null; then
  python=$(tools/prerequisites.sh python)
  printf '\n==> creating .venv with %s\n' "$("$python" --version)"
  rm -rf .venv
  "$python" -m venv .venv
fi
printf '\n==> installing %s\n' "$requirements"
for attempt in 1 2 3; do
  if .venv/bin/python -m pip install --disable-pip-version-check --require-hashes -r "$requirements" | sed -u -n '/^Collecting\|^Successfully/s/^/  /p'; then
    exit 0
  fi
  echo "  attempt $attempt failed" >&2
done
exit 1
