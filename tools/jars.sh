#!/usr/bin/env bash
# jars.sh NAME...: fetches sets of Java artifacts of tests/kafka/ into .ottla-build/jars/NAME/:
# `tools/jars.sh brokers oracle spark kafka-4.3 kafka-4.0` (pom.xml), `tools/jars.sh kafka-3.9 kafka-2.8` (older.xml),
# `tools/jars.sh spark-4.0 spark-4.1` (pom.xml, for older releases of Spark), `tools/jars.sh apicurio` (apicurio.xml).
# Downloads are retried. A set that is up to date is skipped without starting Maven.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly attempts=4
readonly current=(-f tests/kafka/pom.xml) older=(-f tests/kafka/older.xml) apicurio=(-f tests/kafka/apicurio.xml)
declare -A goal=(
  [brokers]=copy-dependencies@brokers [oracle]=copy@oracle [spark]=copy@spark
  [spark-4.0]=copy@spark [spark-4.1]=copy@spark
  [kafka-4.3]=copy-dependencies@brokers [kafka-4.0]=copy-dependencies@brokers
  [kafka-3.9]=copy-dependencies@older [kafka-2.8]=copy-dependencies@older [apicurio]=unpack@apicurio
)
# The last release of each line of which Maven Central has all jars; 2.8 runs with ZooKeeper.
declare -A release=([kafka-4.3]=4.3.1 [kafka-4.0]=4.0.2 [kafka-3.9]=3.9.2 [kafka-2.8]=2.8.2
  [spark-4.0]=4.0.2 [spark-4.1]=4.1.1)
mkdir -p .ottla-build/jars .ottla-build/log

# The arguments of Maven for a set.
arguments() {
  if [[ $1 == kafka-4.* ]]; then
    echo "${current[*]} -Dkafka.version=${release[$1]} -Dbrokers.directory=$1"
  elif [[ $1 == spark-* ]]; then
    echo "${current[*]} -Dspark.version=${release[$1]} -Dspark.directory=$1"
  elif [[ -n ${release[$1]:-} ]]; then
    echo "${older[*]} -Dkafka.version=${release[$1]} -Djars.directory=$1"
  elif [[ $1 == apicurio ]]; then
    echo "${apicurio[*]}"
  else
    echo "${current[*]}"
  fi
}

# Maven prints no progress; its log shows it.
show_progress() {
  local name=$1 log=$2
  while sleep 5; do
    printf '  %s jars: %s files downloaded\n' "$name" "$(grep -c '^\[INFO\] Downloaded from' "$log" || true)"
  done
}

fetch() {
  local name=$1 log=.ottla-build/log/maven-$1.log dir=.ottla-build/jars/$1 ticker status
  rm -f "$dir.stamp" # first: it must not outlive what it stands for if this is killed
  rm -rf "$dir" # files of another version would be on the class path
  : >"$log"
  show_progress "$name" "$log" &
  ticker=$!
  status=0
  # shellcheck disable=SC2046 # no argument contains blanks
  mvn -B $(arguments "$name") -Dstyle.color=never -Dmaven.wagon.http.retryHandler.count=5 \
    "dependency:${goal[$name]}" >"$log" 2>&1 </dev/null || status=$?
  kill "$ticker" && wait "$ticker" 2>/dev/null || true
  return "$status"
}

for name in "$@"; do
  stamp=.ottla-build/jars/$name.stamp
  [[ -n ${goal[$name]:-} ]] || { echo "no such set of jars: $name (known: ${!goal[*]})" >&2; exit 2; }
  pom=$(arguments "$name" | cut -d' ' -f2)
  wanted=$(cksum <"$pom")${release[$name]:+ ${release[$name]}}
  if [[ -f $stamp && $(<"$stamp") == "$wanted" ]]; then continue; fi
  echo "fetching the $name jars with Maven"
  for ((attempt = 1; ; attempt++)); do
    if fetch "$name"; then break; fi
    if ((attempt == attempts)); then
      tail -n 20 ".ottla-build/log/maven-$name.log" >&2
      echo "could not fetch the $name jars in $attempts attempts; the lines above are the end of Maven's output" >&2
      exit 1
    fi
    echo "  attempt $attempt failed, trying again"
    sleep $((attempt * 2))
  done
  echo "  $(find ".ottla-build/jars/$name" -name '*.jar' | wc -l) $name jars"
  printf '%s\n' "$wanted" >"$stamp"
done
