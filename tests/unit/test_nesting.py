"""Texts from outside that are nested too deep are errors of the callers, not of the interpreter."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from ottla import deserializers
from ottla.cli.consume.filters import filter_of
from ottla.cli.options import read_config
from ottla.cli.parsing import matching
from ottla.errors import ConfigError, ProtocolError
from ottla.spark.options.offset_limits import parse_offsets
from ottla.spark.options.subscription import parse_subscription
from ottla.spark.writing.exactly_once.decision import Decision

DEEP = "[" * 100_000 + "]" * 100_000
PATTERN = "(" * 10_000 + ")" * 10_000


def test_json_is_nested_so_deep_at_most() -> None:
    assert deserializers.json(b"[" * 100 + b"]" * 100) is not None
    with pytest.raises(ValueError, match="nested too deep"):
        deserializers.json(DEEP.encode())


def test_expressions_of_the_command_line_are_nested_so_deep_at_most() -> None:
    for option in ("key", "value"):
        given: dict[str, object] = {"key": None, "value": None, "header": [], "where": []}
        with pytest.raises(ConfigError, match=rf"--{option} .* is not a regular expression"):
            filter_of(argparse.Namespace(**{**given, option: PATTERN}))
    with pytest.raises(ConfigError, match=r"--match .* is not a regular expression"):
        matching(argparse.Namespace(match=PATTERN))


def test_a_configuration_file_is_nested_so_deep_at_most(tmp_path: Path) -> None:
    pytest.importorskip("tomllib", reason="TOML is in the standard library since Python 3.11")
    path = tmp_path / "deep.toml"
    path.write_text(f"a = {DEEP}")
    with pytest.raises(ConfigError, match=r"deep\.toml"):
        read_config(path)


def test_options_of_spark_are_nested_so_deep_at_most() -> None:
    with pytest.raises(ConfigError, match="subscribePattern"):
        parse_subscription({"subscribepattern": PATTERN})
    with pytest.raises(ConfigError, match="startingOffsets"):
        parse_offsets("startingOffsets", f'{{"t": {DEEP}}}')


def test_a_decision_is_nested_so_deep_at_most() -> None:
    with pytest.raises(ProtocolError, match="is not a decision"):
        Decision.decode(f'{{"participants": {DEEP}}}'.encode())
