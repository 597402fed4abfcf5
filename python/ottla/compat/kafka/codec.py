"""Which compression codecs there are: ottla brings all of them along."""

from __future__ import annotations

__all__ = ["has_gzip", "has_lz4", "has_snappy", "has_zstd"]


def has_gzip() -> bool:
    """Whether gzip is supported."""
    return True


def has_snappy() -> bool:
    """Whether snappy is supported."""
    return True


def has_lz4() -> bool:
    """Whether lz4 is supported."""
    return True


def has_zstd() -> bool:
    """Whether zstd is supported."""
    return True
