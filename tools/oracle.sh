#!/usr/bin/env bash
# Writes what Kafka's own Java classes say about its protocol to .ottla-build/oracle/, for the tests
# that read OTTLA_ORACLE_DIR: schemas.json vectors.jsonl errors.json murmur2.jsonl assignments.jsonl.
# Nothing is done when neither the jars nor the Java sources changed since.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly out=.ottla-build/oracle
tools/jars.sh oracle
wanted=$(cat tests/java/*.java .ottla-build/jars/oracle.stamp "$0" | cksum)
if [[ -f $out.stamp && $(<"$out.stamp") == "$wanted" ]]; then exit 0; fi

echo "asking Kafka's Java classes for message vectors"
rm -rf "$out" "$out.stamp"
mkdir -p "$out"
ask() { java -Xmx512m -cp '.ottla-build/jars/oracle/*' "tests/java/$1.java" "$2" "$out/$3"; }
ask MessageVectors schemas schemas.json
ask MessageVectors vectors vectors.jsonl
ask ProtocolFacts errors errors.json
ask ProtocolFacts murmur2 murmur2.jsonl
java -Xmx512m -cp '.ottla-build/jars/oracle/*' tests/java/Assignments.java "$out/assignments.jsonl"
printf '%s\n' "$wanted" >"$out.stamp"
echo "  $(wc -l <"$out/vectors.jsonl") vectors"
