"""The standard streams that a command gives the functions that print."""

from __future__ import annotations

import sys

import pytest

from ottla.cli.streams import standard_streams


def test_what_a_closed_stream_did_not_take_is_dropped_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Regression: Python 3.13 printed a second error when the stream was deleted."""
    monkeypatch.setattr(sys, "stdout", None)
    with standard_streams():
        out = sys.stdout
        print("a line")
        with pytest.raises(OSError, match="standard output is closed"):
            out.flush()
    out.close()
    assert sys.stdout is None
