#!/usr/bin/env bash
# Builds the wheel of the last commit twice, from copies in two directories, and compares the hashes. It takes two release
# builds; each one's target directory is removed after it. Uncommitted changes are left out.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly out=$PWD/.ottla-build/reproducible
rm -rf "$out"
mkdir -p "$out"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
readonly commit=$(git rev-parse HEAD)
hashes=()
for copy in first another/longer/second; do
  mkdir -p "$out/$copy/.ottla-build"
  git archive "$commit" | tar -x -C "$out/$copy"
  # What Git does not have: the environment, the tools and the console's chart library.
  ln -s "$PWD/.venv" "$out/$copy/.venv"
  ln -s "$PWD/.ottla-build/wheel-tools" "$out/$copy/.ottla-build/wheel-tools"
  mkdir -p .ottla-build/wheel-tools "$out/$copy/python/ottla/console/static"
  cp -R python/ottla/console/static/vendor "$out/$copy/python/ottla/console/static/"
  printf '\n==> %s\n' "$copy"
  CARGO_TARGET_DIR=$out/$copy/target "$out/$copy/tools/build_wheel.sh" "$out/$copy/wheel"
  rm -rf "$out/$copy/target"
  hashes+=("$(cd "$out/$copy/wheel" && sha256sum -- *.whl)")
  printf '%s\n' "${hashes[-1]}"
done
printf '%s\n' "${hashes[@]}" >"$out/hashes.txt"
if [[ ${hashes[0]} != "${hashes[1]}" ]]; then
  echo "the two wheels of $commit differ: compare them in $out" >&2
  exit 1
fi
echo "both wheels of $commit are ${hashes[0]}"
