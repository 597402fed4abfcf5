"""``python -m ottla``: the command line, as ``ottla`` is."""

import sys

from ottla.cli import main

sys.exit(main())
