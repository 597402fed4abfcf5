#!/usr/bin/env bash
# build_wheel.sh DIRECTORY: builds the manylinux wheel of this tree into DIRECTORY, for the oldest glibc that the toolchain
# supports. Two builds of the same commit are the same bytes: no time, no path of the machine (tools/reproducible.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

readonly out=$1
mkdir -p "$out" .ottla-build
# Several trees may share the tools by a link, for which venv makes no environment.
tools=$(readlink -f .ottla-build/wheel-tools)
readonly tools
[[ -x $tools/bin/pip ]] || .venv/bin/python -m venv "$tools"
# maturin builds with zig's compiler, which can link against any glibc.
"$tools/bin/pip" install --quiet --disable-pip-version-check 'maturin==1.16.0' 'ziglang==0.15.2' 'auditwheel==6.8.2'

# The time of the commit. Cargo names the workspace's own files relative to it; those of other crates are in its home.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
cargo_home=${CARGO_HOME:-$HOME/.cargo}
export RUSTFLAGS="${RUSTFLAGS:-} --remap-path-prefix=$cargo_home=/cargo"
export CFLAGS="${CFLAGS:-} -ffile-prefix-map=$cargo_home=/cargo"
# zig's Clang compiles libdeflate's code for AVX-512 only with this; it enables no instruction by itself.
if [[ $(uname -m) == x86_64 ]]; then CFLAGS+=' -mevex512'; fi
# maturin itself packs what is there; the build backend checks that the console's chart library is.
PYTHONPATH=tools/build_backend "$tools/bin/python" -c 'import ottla_build_backend as b; b.check_console_assets()'
PATH=$tools/bin:$PATH maturin build --profile wheel --locked --zig --compatibility manylinux_2_28 --out "$out"
"$tools/bin/python" tools/build_backend/wheel_sbom.py "$out"/*.whl
