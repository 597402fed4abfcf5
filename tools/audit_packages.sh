#!/usr/bin/env bash
# Looks up the pinned packages of Python and npm in the databases of known flaws, and checks the workflows with zizmor. Crates
# are checked by tools/audit.sh. It needs Python 3.11 or newer.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly tools=$PWD/.ottla-build/audit
[[ -x $tools/bin/pip ]] || "${PYTHON:-python3}" -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r requirements/audit.txt
failed=()

for file in requirements/build.txt requirements/dev.txt requirements/audit.txt; do
  printf '\n==> %s\n' "$file"
  "$tools/bin/pip-audit" --disable-pip --require-hashes --requirement "$file" || failed+=("$file")
done
printf '\n==> tools/console_assets\n'
npm audit --prefix tools/console_assets --package-lock-only || failed+=(tools/console_assets)
printf '\n==> .github\n'
"$tools/bin/zizmor" --config .github/zizmor.yml .github || failed+=(.github)

((${#failed[@]} == 0)) || { echo "flaws in: ${failed[*]}" >&2; exit 1; }
