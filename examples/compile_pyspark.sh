#!/usr/bin/env bash
# compile_pyspark.sh [SPARK_HOME]: adds bytecode to the archives from which Spark's Python processes import
# PySpark. Without it, each process compiles every imported module again, since Python does not cache bytecode
# in archives. Run it once per installation or image, with the workers' Python; other Python versions ignore
# the bytecode and compile as before.
set -euo pipefail
home=${1:-${SPARK_HOME:-$(python -c 'import pyspark; print(pyspark.__path__[0])')}}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for archive in "$home"/python/lib/*.zip; do
    rm -rf "$scratch"/*
    python -m zipfile -e "$archive" "$scratch/all"
    (
        cd "$scratch/all"
        # Unchecked hashes instead of timestamps, which archives store too coarsely.
        python -W ignore -m compileall -q -b --invalidation-mode unchecked-hash .
        python -m zipfile -c "$scratch/compiled.zip" ./*
    )
    cat "$scratch/compiled.zip" >"$archive"
done
