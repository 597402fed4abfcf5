#!/usr/bin/env bash
# Puts a built site as a version into the branch of all versions, and pushes it:
#   tools/site_store.sh REMOTE SITE --version 0.1.3 --alias latest
# The branch has one commit, so that it does not grow with each build of `dev`. Invariant: it replaces only the commit from which it
# was made; if another run pushed meanwhile, the version is added to what that run left, so that no version is lost.
set -euo pipefail

readonly remote=$1 branch=refs/heads/gh-pages
site=$(realpath "$2")
shift 2
tool=$(realpath "$(dirname "$0")/site_versions.py")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

for _ in {1..10}; do
  rm -rf store
  git init --quiet store
  found=$(git ls-remote "$remote" "$branch")
  base=
  if [[ -n $found ]]; then
    git -C store fetch --quiet --depth 1 "$remote" "$branch"
    git -C store checkout --quiet --detach FETCH_HEAD
    base=$(git -C store rev-parse FETCH_HEAD)
  fi
  "${PYTHON:-python3}" "$tool" add "$site" store "$@"
  git -C store add --all --force
  tree=$(git -C store write-tree)
  if [[ -n $base && $tree == "$(git -C store rev-parse "$base^{tree}")" ]]; then
    echo 'the store has this version already'
    exit 0
  fi
  commit=$(git -C store -c user.name=ottla -c user.email=ottla@users.noreply.github.com commit-tree -m 'The documentation site' "$tree")
  if git -C store push --quiet --force-with-lease="$branch:$base" "$remote" "$commit:$branch"; then
    exit 0
  fi
  # Another run's push is no failure; anything else is.
  now=$(git ls-remote "$remote" "$branch")
  [[ ${now%%[[:space:]]*} != "$base" ]] || break
done
echo 'the branch of the documentation site was not pushed: see above' >&2
exit 1
