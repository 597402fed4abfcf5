#!/usr/bin/env bash
# fuzz.sh [SECONDS] [TARGET...]: runs every target of rust/fuzz for a bounded time. A failed target does not
# stop the others. The targets look for panics, hangs and memory use, not for undefined behaviour, so they
# need no sanitizer and stable Rust suffices.
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
  mkdir -p "corpus/$target" # for new findings; seeds/ is only read
  cargo fuzz run --fuzz-dir . --sanitizer none "$target" "corpus/$target" "seeds/$target" -- \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 || failed+=("$target")
done
if ((${#failed[@]})); then
  echo "failed: ${failed[*]}; the inputs are in rust/fuzz/artifacts" >&2
  exit 1
fi
