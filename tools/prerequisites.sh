#!/usr/bin/env bash
# Lists all missing prerequisites, each with its remedy.
#   prerequisites.sh python   print a suitable interpreter, $PYTHON first
#   prerequisites.sh build    check the prerequisites of building
#   prerequisites.sh demo     check those of `make demo`: building, and Java for Spark
#   prerequisites.sh test     check those of `make test`: building, Java, Maven, disk space
set -euo pipefail

# $1 >= $2, as versions.
at_least() { [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

find_python() {
  local candidate
  for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python3.10 python; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

missing=()
check_build() {
  local python version
  if ! python=$(find_python); then
    missing+=("Python 3.10 or newer: https://www.python.org/downloads/, or your system's package 'python3' (then: make PYTHON=/path/to/python3)")
  elif ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    missing+=("Python's venv module for $python: on Debian and Ubuntu 'apt install python3-venv'")
  fi
  version=$(rustc --version 2>/dev/null | cut -d' ' -f2 || true)
  if [[ -z $version ]] || ! command -v cargo >/dev/null; then
    missing+=("Rust 1.89 or newer: https://rustup.rs")
  elif ! at_least "$version" 1.89; then
    missing+=("Rust 1.89 or newer, found $version: 'rustup update stable', or https://rustup.rs")
  fi
  if ! command -v cc >/dev/null && ! command -v clang >/dev/null && ! command -v gcc >/dev/null; then
    missing+=("a C compiler (zstd and TLS are built with it): 'apt install build-essential', 'dnf install gcc', 'xcode-select --install'")
  fi
}

# tools/side_by_side.sh waits for the first of several commands; macOS has bash 3.2.
check_bash() {
  local version
  version=$(bash --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p')
  if ! at_least "$version" 5.1; then
    missing+=("bash 5.1 or newer, found $version: 'apt install bash', 'brew install bash'")
  fi
}

check_java() {
  local version
  # macOS has a placeholder `java` that only prints an error.
  version=$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1 || true)
  if [[ -z $version ]]; then
    missing+=("Java 17 or newer, which runs the real brokers and Spark: 'apt install openjdk-17-jdk-headless', or https://adoptium.net")
  elif ! at_least "$version" 17; then
    missing+=("Java 17 or newer, found $version: 'apt install openjdk-17-jdk-headless', or https://adoptium.net")
  elif [[ $(java --list-modules 2>/dev/null) != *jdk.compiler* ]]; then
    missing+=("a JDK instead of a Java runtime: 'apt install openjdk-17-jdk-headless', or https://adoptium.net")
  fi
}

# Brokers on a full disk fail after an hour, with errors that do not mention the disk.
check_disk() {
  local directory=$1 megabytes=$2 purpose=$3 free
  shift 3
  free=$(df -Pm "$directory" | awk 'NR == 2 { print $4 }')
  # Existing files count towards the required space.
  if (($#)); then megabytes=$((megabytes - $({ du -smc "$@" 2>/dev/null || true; } | tail -n 1 | cut -f 1))); fi
  if ((free < megabytes)); then
    missing+=("$megabytes MB of free disk space for $purpose in $directory, found $free: free some, or run 'make clean'")
  fi
}

check_test() {
  check_bash
  check_java
  check_disk . 10500 "builds" target .venv .ottla-build
  check_disk "${TMPDIR:-/tmp}" 3000 "the logs of the tests' brokers (TMPDIR sets the directory)"
  if ! command -v mvn >/dev/null; then
    missing+=("Maven, which fetches the brokers: 'apt install maven', 'brew install maven', or https://maven.apache.org")
  fi
}

case ${1:-} in
  python) find_python || { echo "no Python 3.10 or newer found" >&2; exit 1; }; exit ;;
  build) check_build ;;
  demo) check_build; check_java ;;
  test) check_build; check_test ;;
  *) echo "usage: $0 python|build|demo|test" >&2; exit 2 ;;
esac

if ((${#missing[@]})); then
  echo "missing:" >&2
  printf '  - %s\n' "${missing[@]}" >&2
  exit 1
fi
