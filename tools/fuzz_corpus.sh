#!/usr/bin/env bash
# Reduces what fuzzing found (rust/fuzz/corpus) to the inputs that reach code which no other one reaches, so that a corpus that
# is kept from night to night stays small.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/cargo_tool.sh fuzz 0.13.2
export PATH=$PWD/.ottla-build/cargo/bin:$PATH
cd rust/fuzz
for corpus in corpus/*/; do
  [[ -d $corpus ]] || continue
  target=$(basename "$corpus")
  before=$(find "$corpus" -type f | wc -l)
  cargo fuzz cmin --fuzz-dir . --sanitizer none "$target" "$corpus"
  printf '%-16s %6d inputs, before %d\n' "$target" "$(find "$corpus" -type f | wc -l)" "$before"
done
