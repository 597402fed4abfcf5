"""``python -m ottla``: the command line, like ``ottla``."""

import sys

from ottla.cli import main

sys.exit(main())
