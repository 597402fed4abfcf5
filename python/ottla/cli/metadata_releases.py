"""The releases by which Kafka names the levels of ``metadata.version``.

Invariant: the names are those of Kafka's ``MetadataVersion``; a later level has no name here.
"""

from __future__ import annotations

METADATA_VERSION = "metadata.version"

_NAMES = (
    "3.0-IV1 3.1-IV0 3.2-IV0 3.3-IV0 3.3-IV1 3.3-IV2 3.3-IV3 3.4-IV0 3.5-IV0 3.5-IV1 3.5-IV2 "
    "3.6-IV0 3.6-IV1 3.6-IV2 3.7-IV0 3.7-IV1 3.7-IV2 3.7-IV3 3.7-IV4 3.8-IV0 3.9-IV0 4.0-IV0 "
    "4.0-IV1 4.0-IV2 4.0-IV3 4.1-IV0 4.1-IV1 4.2-IV0 4.2-IV1 4.3-IV0 4.4-IV0 4.4-IV1 4.4-IV2"
)

METADATA_RELEASES = dict(enumerate(_NAMES.split(), 1))
"""The release of each level."""

LEVELS = {release: level for level, release in METADATA_RELEASES.items()}
"""The level of each release."""
