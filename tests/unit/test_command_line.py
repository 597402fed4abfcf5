"""Properties files, formats and streams of the command line, without a process."""

from __future__ import annotations

import argparse
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.cli import build_parser
from ottla.cli.formats import Record, compile_format, unescape
from ottla.cli.options import read_config
from ottla.cli.produce import split_stream
from ottla.errors import ConfigError

RECORD = Record(b"k", None, "t", 1, 2, 3, [("a", b"1"), ("b", None)])


def test_a_properties_file_is_read_as_java_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("# a=b\n! c=d\n\n a = 1\\\n   2\nb: \\u00e9\nc d\n", encoding="utf-8")
    assert read_config(file) == {"a": "12", "b": "é", "c": "d"}
    file.write_text("a=\\ud83d", encoding="utf-8")
    with pytest.raises(ConfigError, match=f"{file}.*half of a surrogate pair"):
        read_config(file)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "bad.properties").write_bytes(b"\xff\xfe")
    (tmp_path / "bad.toml").write_text("= 1")
    for name in ("bad.properties", "bad.toml", "missing"):
        with pytest.raises(ConfigError, match=name):
            read_config(tmp_path / name)


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("%t-%p@%o %T", b"t-1@2 3"),
        ("%k|%s|%h", b"k||a=1,b=NULL"),
        ("%K %S", b"1 -1"),
        ("%T{%F %T.%f}", b"1970-01-01 00:00:00.003000"),
        ("%T{%d. %B}%T{", b"01. January3{"),
        ('{"at": "%T{%Y-%m-%dT%H:%M:%SZ}"}', b'{"at": "1970-01-01T00:00:00Z"}'),
        ("100%%\\n", b"100%\n"),
        ("é\\x00\\xff\\q", "é".encode() + b"\x00\xff\\q"),
    ],
)
def test_formats(template: str, shown: bytes) -> None:
    assert compile_format(template)(RECORD) == shown


@pytest.mark.parametrize(
    ("timestamp", "shown"),
    [(None, b"NULL"), (-1, b"1969"), (10**15, b"1" + b"0" * 15), (-(10**15), b"-1" + b"0" * 15)],
)
def test_times_of_any_year(timestamp: int | None, shown: bytes) -> None:
    record = RECORD._replace(timestamp=timestamp)
    assert compile_format("%T{%Y}")(record) == shown


def test_a_form_that_is_not_text() -> None:
    with pytest.raises(ConfigError, match="not a format of strftime"):
        compile_format("%T{\\xff}")


def test_an_unknown_token() -> None:
    with pytest.raises(ConfigError, match="%x does not exist; the tokens are %t"):
        compile_format("%x")


def test_escapes() -> None:
    assert unescape("a\\n\\r\\t\\0\\\\\\x41") == b"a\n\r\t\0\\A"


class Dribbling(io.BytesIO):
    """Gives no more than so many bytes at once."""

    step = 1

    def read1(self, size: int | None = -1) -> bytes:
        return self.read(self.step)


@pytest.mark.parametrize("delimiter", [b"\n", b"--", b"\x00"])
def test_streams_are_cut_wherever_reads_end(delimiter: bytes) -> None:
    parts = [b"one", b"", b"-three-", b"four"]
    for step in range(1, 9):
        stream = Dribbling(delimiter.join(parts))
        stream.step = step
        assert list(split_stream(stream, delimiter)) == delimiter.join(parts).split(delimiter)


def every(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield a parser and those of its commands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from every(command)


def test_no_help_shows_an_escaped_percent_sign() -> None:
    """argparse formats the texts of options, and prints a description or an epilog as it is."""
    helps = {parser.prog: parser.format_help() for parser in every(build_parser())}
    assert len(helps) > 80
    assert "%t topic, %p partition" in re.sub(r"\s+", " ", helps["ottla consume"])
    assert [prog for prog, text in helps.items() if re.search(r"%%\w", text)] == []
