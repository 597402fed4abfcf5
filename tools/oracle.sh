#!/usr/bin/env bash
# Writes reference data to .ottla-build/oracle/, for the tests that read OTTLA_ORACLE_DIR: that of Kafka's and Avro's
# own Java classes (schemas.json vectors.jsonl errors.json murmur2.jsonl assignments.jsonl avro.jsonl), and the test
# suite of JSON Schema (json-schema/), which comes with the source of Python's package jsonschema.
# Does nothing if neither the jars, the Java sources nor the package's version have changed.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly out=.ottla-build/oracle
tools/jars.sh oracle
suite=$(sed -n '/^jsonschema==/,/[^\\]$/p' requirements/dev.txt)
wanted=$(cat <(printf '%s' "$suite") tests/java/*.java tests/java/avro/* .ottla-build/jars/oracle.stamp "$0" | cksum)
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
classes=$(mktemp -d) source=$(mktemp -d)
trap 'rm -rf "$classes" "$source"' EXIT
# The module that tools/prerequisites.sh looks for; javac may not be on the path.
jars=$(printf '%s:' .ottla-build/jars/oracle/*.jar)
java -m jdk.compiler/com.sun.tools.javac.Main -d "$classes" -cp "$jars" tests/java/avro/*.java
java -Xmx512m -cp "$classes:.ottla-build/jars/oracle/*" AvroResolution "$out/avro.jsonl" tests/java/avro/cases.json
printf '%s\n' "$suite" >"$source/requirements.txt"
download=(download --quiet --disable-pip-version-check --no-deps --no-binary jsonschema --dest "$source")
for attempt in 1 2 3; do
  .venv/bin/python -m pip "${download[@]}" --requirement "$source/requirements.txt" && break
  echo "  attempt $attempt failed" >&2
done
mkdir "$out/json-schema"
tar -xzf "$source"/jsonschema-*.tar.gz -C "$out/json-schema" --strip-components=3 --wildcards '*/json/tests/draft*'
printf '%s\n' "$wanted" >"$out.stamp"
echo "  $(wc -l <"$out/vectors.jsonl") vectors"
