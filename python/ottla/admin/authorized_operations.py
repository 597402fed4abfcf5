"""Kafka's operations of access control, and the bit fields that name some of them (KIP-430)."""

from __future__ import annotations

OPERATIONS = {
    1: "ANY",
    2: "ALL",
    3: "READ",
    4: "WRITE",
    5: "CREATE",
    6: "DELETE",
    7: "ALTER",
    8: "DESCRIBE",
    9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS",
    11: "ALTER_CONFIGS",
    12: "IDEMPOTENT_WRITE",
    13: "CREATE_TOKENS",
    14: "DESCRIBE_TOKENS",
    15: "TWO_PHASE_COMMIT",
}
"""The operations, by their codes in the protocol."""

_NOT_ASKED = -2147483648


def operations_of(bits: int | None) -> list[str] | None:
    """Return the names of the operations in a bit field; None if it was not asked for."""
    if bits is None or bits == _NOT_ASKED:
        return None
    return [name for code, name in OPERATIONS.items() if bits >> code & 1]
