#!/usr/bin/env bash
# Builds a manylinux wheel (tools/build_wheel.sh), checks its libraries, and tests it in a clean environment of each
# installed Python (tests/support/interpreters.py), without pyarrow; then its console, with the extra.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly out=.ottla-build/wheel
rm -rf "$out"
tools/build_wheel.sh "$out"
wheel=$(echo "$out"/*.whl)
.ottla-build/wheel-tools/bin/auditwheel show "$wheel"
ls -lh "$wheel"

tried=0
pythons=$(.venv/bin/python -m tests.support.interpreters)
for python in $pythons; do
  rm -rf "$out/clean"
  "$python" -m venv "$out/clean"
  "$out/clean/bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps "$wheel"
  "$out/clean/bin/python" tests/wheel/smoke.py
  "$out/clean/bin/pip" install --quiet --disable-pip-version-check "$wheel[console]"
  "$out/clean/bin/python" tests/wheel/console_smoke.py
  tried=$((tried + 1))
done
rm -rf "$out/clean"
((tried)) || { echo 'no Python that ottla supports was found to test the wheel' >&2; exit 1; }
