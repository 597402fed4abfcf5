#!/usr/bin/env bash
# Builds the documentation site into .ottla-build/site; a broken link or anchor is an error.
# `tools/site.sh --check` leaves out what only a browser needs.
set -euo pipefail
cd "$(dirname "$0")/.."

mermaid=12.3.0
asset=docs/assets/mermaid.min.js

if ! .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo 'the documentation site needs Python 3.11 or newer in .venv: it was not checked' >&2
  exit 0
fi
mkdir -p "${asset%/*}"
if [[ ${1-} == --check ]]; then
  [[ -e $asset ]] || touch "$asset"
elif [[ ! -s $asset ]]; then
  (cd .ottla-build && npm pack --silent "mermaid@$mermaid" >/dev/null && tar -xzf "mermaid-$mermaid.tgz" package/dist/mermaid.min.js)
  mv .ottla-build/package/dist/mermaid.min.js "$asset"
  rm -rf .ottla-build/package ".ottla-build/mermaid-$mermaid.tgz"
fi
if ! output=$(.venv/bin/zensical build --clean --strict 2>&1); then
  sed -e 's/\x1b\[[0-9;]*m//g' -e '/^Traceback/,$d' <<<"$output" >&2
  echo 'the documentation site has broken links, anchors or pages: see above' >&2
  exit 1
fi
# The pages in one file, for language models.
.venv/bin/python tools/llms_txt.py --full .ottla-build/site/llms-full.txt
