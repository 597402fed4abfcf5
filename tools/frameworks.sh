#!/usr/bin/env bash
# frameworks.sh [NAME ...]: creates the environments of tests/frameworks, all or some. Each NAME is a file
# requirements/frameworks/NAME.txt; its environment is .ottla-build/frameworks/NAME, with ottla from this tree.
# `originals` are the clients themselves, in a directory for PYTHONPATH: an environment has none of them.
# An environment that is up to date is left as it is.
set -euo pipefail
cd "$(dirname "$0")/.."

out=.ottla-build/frameworks
mkdir -p "$out"
install=(install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all:)

create() {
  local name=$1 python=$out/$1/bin/python
  rm -rf "${out:?}/$name"
  if [[ $name == originals ]]; then
    .venv/bin/python -m pip "${install[@]}" --target "$out/$name" -r "requirements/frameworks/$name.txt"
    return
  fi
  .venv/bin/python -m venv "$out/$name"
  "$python" -m pip "${install[@]}" -r "requirements/frameworks/$name.txt"
  # After every other path, as an installed package is.
  echo "$PWD/python" >"$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/ottla.pth"
}

if ((!$#)); then
  set -- requirements/frameworks/*.txt
  set -- "${@##*/}"
  set -- "${@%.txt}"
fi
for name in "$@"; do
  wanted="$(cksum <"requirements/frameworks/$name.txt") $(.venv/bin/python --version) $PWD"
  stamp=$out/$name.stamp
  if [[ -f $stamp && $(<"$stamp") == "$wanted" ]]; then continue; fi
  echo "installing the packages of requirements/frameworks/$name.txt"
  for ((attempt = 1; ; attempt++)); do
    if create "$name"; then break; fi
    ((attempt < 3)) || { echo "could not install them in $attempt attempts" >&2; exit 1; }
    sleep $((attempt * 2))
  done
  printf '%s\n' "$wanted" >"$stamp"
done
