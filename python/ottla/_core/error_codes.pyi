"""Kafka's error codes, and what administrative calls do about them."""

from typing import Literal

def error_codes() -> list[tuple[str, int]]:
    """Return Kafka's error codes: their names and numbers."""

def repetition_of(code: int) -> Literal["never", "propagation", "always", "passing"]:
    """Return when to repeat a request for an item with an error code.

    Args:
        code: Kafka's error code.

    Returns:
        ``never``; ``propagation``: a few times, since brokers learn of new items one after the
        other; ``always``: until the deadline; ``passing``: for some seconds, if nothing is changed.
    """

def proves_no_change(code: int) -> bool:
    """Return whether a broker with this error code has certainly changed nothing.

    Args:
        code: Kafka's error code.
    """
