#!/usr/bin/env bash
# Fetches the Java artifacts of tests/kafka/pom.xml into .ottla-build/jars/<name>/, one call a
# directory: `tools/jars.sh brokers oracle spark`. Downloads are retried; a directory that was
# fetched for the present pom.xml is left alone, without starting Maven.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly pom=tests/kafka/pom.xml attempts=4
declare -A goal=([brokers]=copy-dependencies [oracle]=copy [spark]=copy)
mkdir -p .ottla-build/jars .ottla-build/log
wanted=$(cksum <"$pom")

# Maven is silent about how far it is; its log tells.
show_progress() {
  local name=$1 log=$2
  while sleep 5; do
    printf '  %s jars: %s files downloaded\n' "$name" "$(grep -c '^\[INFO\] Downloaded from' "$log" || true)"
  done
}

fetch() {
  local name=$1 log=.ottla-build/log/maven-$1.log dir=.ottla-build/jars/$1 ticker status
  rm -rf "$dir" # leftovers of another version would share the class path
  : >"$log"
  show_progress "$name" "$log" &
  ticker=$!
  status=0
  mvn -B -f "$pom" -Dstyle.color=never -Dmaven.wagon.http.retryHandler.count=5 \
    "dependency:${goal[$name]}@$name" >"$log" 2>&1 </dev/null || status=$?
  kill "$ticker" && wait "$ticker" 2>/dev/null || true
  return "$status"
}

for name in "$@"; do
  stamp=.ottla-build/jars/$name.stamp
  [[ -n ${goal[$name]:-} ]] || { echo "no such set of jars: $name (known: ${!goal[*]})" >&2; exit 2; }
  if [[ -f $stamp && $(<"$stamp") == "$wanted" ]]; then continue; fi
  echo "fetching the $name jars with Maven"
  for ((attempt = 1; ; attempt++)); do
    if fetch "$name"; then break; fi
    if ((attempt == attempts)); then
      tail -n 20 ".ottla-build/log/maven-$name.log" >&2
      echo "could not fetch the $name jars in $attempts attempts; the lines above are Maven's last" >&2
      exit 1
    fi
    echo "  attempt $attempt failed, trying again"
    sleep $((attempt * 2))
  done
  echo "  $(find ".ottla-build/jars/$name" -name '*.jar' | wc -l) $name jars"
  printf '%s\n' "$wanted" >"$stamp"
done
