#!/usr/bin/env bash
# Writes reference data from Kafka's and Avro's own Java classes to .ottla-build/oracle/, for the tests that read
# OTTLA_ORACLE_DIR: schemas.json vectors.jsonl errors.json murmur2.jsonl assignments.jsonl avro.jsonl.
# Does nothing if neither the jars nor the Java sources have changed.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly out=.ottla-build/oracle
tools/jars.sh oracle
wanted=$(cat tests/java/*.java tests/java/avro/* .ottla-build/jars/oracle.stamp "$0" | cksum)
if [[ -f $out.stamp && $(<"$out.stamp") == "$wanted" ]]; then exit 0; fi

echo "writing reference data with Kafka's and Avro's Java classes"
rm -rf "$out" "$out.stamp"
mkdir -p "$out"
run() { java -Xmx512m -cp '.ottla-build/jars/oracle/*' "tests/java/$1.java" "$2" "$out/$3"; }
run MessageVectors schemas schemas.json
run MessageVectors vectors vectors.jsonl
run ProtocolFacts errors errors.json
run ProtocolFacts murmur2 murmur2.jsonl
java -Xmx512m -cp '.ottla-build/jars/oracle/*' tests/java/Assignments.java "$out/assignments.jsonl"
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
# The module that tools/prerequisites.sh looks for; javac may not be on the path.
jars=$(printf '%s:' .ottla-build/jars/oracle/*.jar)
java -m jdk.compiler/com.sun.tools.javac.Main -d "$classes" -cp "$jars" tests/java/avro/*.java
java -Xmx512m -cp "$classes:.ottla-build/jars/oracle/*" AvroResolution "$out/avro.jsonl" tests/java/avro/cases.json
printf '%s\n' "$wanted" >"$out.stamp"
echo "  $(wc -l <"$out/vectors.jsonl") vectors"
