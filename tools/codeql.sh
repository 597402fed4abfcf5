#!/usr/bin/env bash
# Analyses the tree with the CodeQL that GitHub's runners have, as .github/codeql.yml says, and uploads what it finds to the
# repository's page Security.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly out=.ottla-build/codeql languages=(actions javascript python rust)
codeql=$(find "${RUNNER_TOOL_CACHE:?this runs on GitHub}"/CodeQL -path '*/codeql/codeql' -type f | sort -V | tail -1)
[[ -n $codeql ]] || { echo "$RUNNER_TOOL_CACHE has no CodeQL" >&2; exit 1; }
rm -rf "$out"
mkdir -p "$out"
"$codeql" database create "$out/databases" --db-cluster --source-root=. --build-mode=none --threads=0 \
  --language="$(IFS=,; echo "${languages[*]}")" --codescanning-config=.github/codeql.yml
for language in "${languages[@]}"; do
  "$codeql" database analyze "$out/databases/$language" --threads=0 --format=sarif-latest \
    --sarif-category="$language" --output="$out/$language.sarif"
  # A pull request from a fork may not upload.
  "$codeql" github upload-results --repository="$GITHUB_REPOSITORY" --ref="$GITHUB_REF" --commit="$GITHUB_SHA" \
    --sarif="$out/$language.sarif" || [[ $GITHUB_EVENT_NAME == pull_request ]]
done
