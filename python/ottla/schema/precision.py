"""``Precision``: the digits of a decimal field."""

from __future__ import annotations

from dataclasses import dataclass

from ottla.errors import ConfigError

_MAX_DIGITS = 76


@dataclass(frozen=True)
class Precision:
    """The digits of a decimal field: ``price: Annotated[Decimal, Precision(9, scale=2)]``.

    Args:
        digits: the number of digits in total, 1 to 76.
        scale: how many of them are after the point. Default: 0.

    Raises:
        ConfigError: a number is out of range.
    """

    digits: int
    scale: int = 0

    def __post_init__(self) -> None:
        """Check the range that Avro and Arrow share."""
        if not 1 <= self.digits <= _MAX_DIGITS or not 0 <= self.scale <= self.digits:
            raise ConfigError(
                f"Precision({self.digits}, scale={self.scale}): expected 1 to {_MAX_DIGITS} "
                "digits, and a scale from 0 to their number"
            )
