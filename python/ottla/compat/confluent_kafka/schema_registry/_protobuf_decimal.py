"""Decimals of Protobuf to those of Python, and back, without rounding."""

from __future__ import annotations

import decimal
from decimal import Decimal
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._protobuf_confluent import (
    DECIMAL,
    message_class,
)

# The default context would round to 28 digits.
_EXACT = decimal.Context(
    prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[]
)
# Java's BigInteger has no more digits; a scale beyond that would take hours, and gigabytes.
_MAX_DIGITS = 646_456_993
# Converting digits to bytes takes time with their square, so clients agree on how many they write.
MAX_ENCODABLE_COEFFICIENT_DIGITS = 4300


def decimal_to_protobuf(value: Decimal, scale: int) -> Any:
    """Return a decimal of Protobuf with a number of decimal places.

    Raises:
        ValueError: the value has more places, or would have too many digits.
    """
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError("the decimal is not a finite number")
    places = scale + exponent
    number = int(Decimal((0, digits, 0)))
    if places >= 0:
        if places + len(digits) > _MAX_DIGITS:
            raise ValueError("Scale provided is too wide for the decimal")
        number *= 10**places
    elif number:
        kept = _without_zeros(digits, -places)
        if kept is None:
            raise ValueError("Scale provided does not match the decimal")
        number = int(Decimal((0, kept, 0)))
    count = len(digits) + places if number else 1
    return _message(-number if sign else number, count, scale)


def _without_zeros(digits: tuple[int, ...], count: int) -> tuple[int, ...] | None:
    if count > len(digits) or any(digits[len(digits) - count :]):
        return None
    return digits[: len(digits) - count]


def decimal_of(value: Decimal) -> Any:
    """Return a decimal of Protobuf with the value's own decimal places."""
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise ValueError("the decimal is not a finite number")
    return decimal_to_protobuf(value, -exponent)


def _message(number: int, precision: int, scale: int) -> Any:
    bits = number.bit_length() if number >= 0 else (~number).bit_length()
    data = number.to_bytes(bits // 8 + 1, "big", signed=True)
    return message_class(DECIMAL, "Decimal")(value=data, precision=precision, scale=scale)


def protobuf_to_decimal(value: Any) -> Decimal:
    """Return the decimal of a message."""
    number = int.from_bytes(value.value, "big", signed=True)
    return _EXACT.create_decimal(number).scaleb(-value.scale, _EXACT)
