"""Where an installed confluent-kafka is: its rule executors run on the layer, too.

The layer has no executors of its own. They are plug-ins that register with the rule registry, so
the packages ``rules`` and ``confluent`` also have the modules of an installed confluent-kafka.
Nothing of it is imported before a program does, and without it such an import is an ImportError.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from pathlib import Path


def original_directories(*parts: str) -> list[str]:
    """Return the directory of a package of confluent-kafka's registry, if it is installed."""
    spec = PathFinder.find_spec("confluent_kafka")
    found = []
    for root in (spec.submodule_search_locations or []) if spec is not None else []:
        directory = Path(root, "schema_registry", *parts)
        if directory.is_dir():
            found.append(str(directory))
    return found
