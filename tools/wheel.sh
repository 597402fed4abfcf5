#!/usr/bin/env bash
# Builds a manylinux wheel for the oldest glibc that the toolchain supports, checks its libraries, and tests it
# in a clean environment of each installed Python (tests/support/interpreters.py), without pyarrow; then its console, with the extra.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly out=.ottla-build/wheel
rm -rf "$out"
mkdir -p "$out"
tools=$out/tools
.venv/bin/python -m venv "$tools"
# zig's Clang compiles libdeflate's code for AVX-512 only with this; it enables no instruction by itself.
if [[ $(uname -m) == x86_64 ]]; then export CFLAGS="${CFLAGS:-} -mevex512"; fi
# maturin builds with zig's compiler, which can link against any glibc.
"$tools/bin/pip" install --quiet --disable-pip-version-check 'maturin==1.16.0' 'ziglang==0.15.2' 'auditwheel==6.8.2'
# maturin itself packs what is there; the build backend checks that the console's chart library is.
PYTHONPATH=tools/build_backend "$tools/bin/python" -c 'import ottla_build_backend as b; b.check_console_assets()'
PATH=$PWD/$tools/bin:$PATH maturin build --profile wheel --locked --zig --compatibility manylinux_2_28 --out "$out"
wheel=$(echo "$out"/*.whl)
"$tools/bin/auditwheel" show "$wheel"
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
