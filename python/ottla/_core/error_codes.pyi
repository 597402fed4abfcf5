"""Kafka's error codes, and what administrative calls do about them."""

from typing import Literal

def error_codes() -> list[tuple[str, int]]:
    """."""

def repetition_of(code: int) -> Literal["never", "propagation", "always", "passing"]:
    """."""

def proves_no_change(code: int) -> bool:
    """."""
