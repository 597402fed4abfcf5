#!/usr/bin/env bash
# Runs every target of rust/fuzz for a bounded time: fuzz.sh [SECONDS] [TARGET...]. One that fails
# does not keep the others from running. Without a sanitizer, stable Rust is enough: the targets
# look for panics, hangs and memory, not for unsafety.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-30}
shift || true
tools/cargo_tool.sh fuzz 0.13.2
export PATH=$PWD/.ottla-build/cargo/bin:$PATH

cd rust/fuzz
targets=("$@")
if ((${#targets[@]} == 0)); then
  while IFS= read -r target; do targets+=("$target"); done < <(cargo fuzz list --fuzz-dir .)
fi
failed=()
for target in "${targets[@]}"; do
  printf '\n==> %s for %s s\n' "$target" "$seconds"
  mkdir -p "corpus/$target" # what the run finds; seeds/ is only read
  cargo fuzz run --fuzz-dir . --sanitizer none "$target" "corpus/$target" "seeds/$target" -- \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 || failed+=("$target")
done
if ((${#failed[@]})); then
  echo "failed: ${failed[*]}; the inputs are in rust/fuzz/artifacts" >&2
  exit 1
fi
