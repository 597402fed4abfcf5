"""partition_for_key is Java's murmur2: checked against Kafka's own class."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import ottla
from ottla import errors
from tests.support.jars import REPOSITORY, MissingPrerequisiteError


def oracle() -> list[dict[str, int | str]]:
    directory = Path(os.environ.get("OTTLA_ORACLE_DIR", REPOSITORY / ".ottla-build" / "oracle"))
    found = directory / "murmur2.jsonl"
    if not found.is_file():
        raise MissingPrerequisiteError(
            f"no {found}: run `make test`, or `make oracle` for it alone"
        )
    return [json.loads(line) for line in found.read_text().splitlines()]


def test_every_key_goes_where_java_sends_it() -> None:
    vectors = oracle()
    assert len(vectors) > 100
    for vector in vectors:
        key, positive = bytes.fromhex(str(vector["key"])), int(vector["positive"])
        for partitions in (1, 2, 3, 6, 7, 12, 100, 1000):
            assert ottla.partition_for_key(key, partitions) == positive % partitions


def test_forms_of_a_key_agree() -> None:
    assert {
        ottla.partition_for_key(k, 1000) for k in ("ä", "ä".encode(), bytearray("ä".encode()))
    } == {ottla.partition_for_key(memoryview("ä".encode()), 1000)}


def test_wrong_arguments_are_told() -> None:
    with pytest.raises(errors.ConfigError, match="partitions is 0"):
        ottla.partition_for_key("k", 0)
    with pytest.raises(errors.ConfigError, match="key is None"):
        ottla.partition_for_key(None, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="key is of type int"):
        ottla.partition_for_key(5, 3)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        ottla.partition_for_key("k", -1)
