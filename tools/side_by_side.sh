#!/usr/bin/env bash
# side_by_side.sh COMMAND COMMAND...: runs commands of the shell at once. The output of the first is shown as it
# comes, that of each other one when it has ended. The first failure stops the rest, with what the command that
# failed has left behind, and is the exit status.
set -euo pipefail
cd "$(dirname "$0")/.."

outputs=$(mktemp -d)
declare -A number=() # by process id, which is also that of the process group
stop() {
  for process in "${!number[@]}"; do kill -- "-$process" 2>/dev/null || true; done
  rm -rf "$outputs"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

set -m # a process group for each, which ends as a whole
for command in "$@"; do
  index=${#number[@]}
  if ((index)); then
    bash -euo pipefail -c "$command" >"$outputs/$index" 2>&1 </dev/null &
  else
    bash -euo pipefail -c "$command" </dev/null &
  fi
  number[$!]=$index
done
set +m
while ((${#number[@]})); do
  status=0
  wait -n -p ended "${!number[@]}" || status=$?
  # Not a command, but a signal, which the traps handle.
  [[ -n ${ended:-} ]] || exit "$status"
  if ((number[$ended])); then cat "$outputs/${number[$ended]}"; fi
  if ((status)); then exit "$status"; fi
  unset "number[$ended]"
done
