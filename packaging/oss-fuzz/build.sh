#!/bin/bash -eu
# Builds every fuzz target of rust/fuzz, with its seeds, as OSS-Fuzz expects them in $OUT.
cd "$SRC/ottla/rust/fuzz"
cargo fuzz build --fuzz-dir . --release --debug-assertions
for source in fuzz_targets/*.rs; do
  target=$(basename "$source" .rs)
  cp "target/x86_64-unknown-linux-gnu/release/$target" "$OUT/"
  zip --quiet --junk-paths "$OUT/${target}_seed_corpus.zip" "seeds/$target"/*
done
