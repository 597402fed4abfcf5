#!/usr/bin/env bash
# Puts bytecode into the archives out of which Spark's Python processes import PySpark:
#   compile_pyspark.sh [SPARK_HOME]
# Python compiles what it imports from an archive anew in each process, and keeps nothing of it.
# Run it with the Python of the workers, once an installation or image; another Python passes over
# the bytecode and compiles as before.
set -euo pipefail
home=${1:-${SPARK_HOME:-$(python -c 'import pyspark; print(pyspark.__path__[0])')}}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for archive in "$home"/python/lib/*.zip; do
    rm -rf "$scratch"/*
    python -m zipfile -e "$archive" "$scratch/all"
    (
        cd "$scratch/all"
        # By hash and not checked: an archive keeps times too coarse to compare.
        python -W ignore -m compileall -q -b --invalidation-mode unchecked-hash .
        python -m zipfile -c "$scratch/compiled.zip" ./*
    )
    cat "$scratch/compiled.zip" >"$archive"
done
