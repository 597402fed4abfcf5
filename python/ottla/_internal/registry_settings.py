"""The values of a schema registry's settings, for the types of arguments and the command line.

The core checks values, with the same names; ``test_each_level_and_mode_is_accepted`` compares them.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

CompatibilityLevel: TypeAlias = Literal[
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
]
RegistryMode: TypeAlias = Literal["READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD"]
