"""partition_for_key: Java's murmur2 hash, and the accepted key types.

A Rust test compares the hash with Kafka's own class on 100,000 keys
(`rust/client/tests/client/partitioner.rs`).
"""

from __future__ import annotations

import pytest

import ottla
from ottla import errors


# Some of those keys with their hashes, masked as in Java.
@pytest.mark.parametrize(
    ("key", "positive"),
    [(b"", 275646681), (b"\xf8", 1556773120), (b"\x17\x5f", 987247775)],
)
def test_keys_hash_as_in_java(key: bytes, positive: int) -> None:
    for partitions in (1, 2, 3, 6, 7, 12, 100, 1000):
        assert ottla.partition_for_key(key, partitions) == positive % partitions


def test_string_and_bytes_keys_agree() -> None:
    assert {
        ottla.partition_for_key(k, 1000) for k in ("ä", "ä".encode(), bytearray("ä".encode()))
    } == {ottla.partition_for_key(memoryview("ä".encode()), 1000)}


def test_invalid_arguments_raise() -> None:
    with pytest.raises(errors.ConfigError, match="partitions is 0"):
        ottla.partition_for_key("k", 0)
    with pytest.raises(errors.ConfigError, match="key is None"):
        ottla.partition_for_key(None, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="key is of type int"):
        ottla.partition_for_key(5, 3)  # type: ignore[arg-type]
    with pytest.raises(errors.ConfigError, match="partitions is -1, which is out of range"):
        ottla.partition_for_key("k", -1)
