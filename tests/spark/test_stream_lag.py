"""The lag of a query, from the progress that Spark reports."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from ottla.spark import lag


def test_lag() -> None:
    progress = SimpleNamespace(
        sources=[
            SimpleNamespace(
                latestOffset='{"t":{"0":10,"1":5},"u":{"0":3}}',
                endOffset='{"t":{"0":4,"1":5}}',
            ),
            SimpleNamespace(latestOffset=None, endOffset="5"),
            SimpleNamespace(latestOffset='{"logOffset":3}', endOffset='{"logOffset":2}'),
        ]
    )
    found = lag(progress)
    assert dict(found.partitions) == {("t", 0): 6, ("t", 1): 0, ("u", 0): 3}
    assert (found.total, found.max, found.min, found.average) == (9, 6, 0, 3.0)
    as_dict = {"sources": [vars(source) for source in progress.sources]}
    assert lag(json.loads(json.dumps(as_dict))) == found
    assert found.known


ENDS, READ = '{"t":{"0":1000000}}', '{"t":{"0":999990}}'


@pytest.mark.parametrize(
    "sources",
    [
        None,
        [],
        # Spark has asked for the log's end, and has not read yet; it may report that as "null".
        [(ENDS, None)],
        [(ENDS, "null")],
        # PySpark before 4.2 does not report the log's end.
        [(None, READ)],
        [(None, "5")],
    ],
)
def test_an_unknown_lag(sources: list[tuple[str | None, str | None]] | None) -> None:
    progress = None
    if sources is not None:
        progress = {
            "sources": [{"latestOffset": ends, "endOffset": read} for ends, read in sources]
        }
    nothing = lag(progress)
    assert not nothing.known
    assert (nothing.total, nothing.max, nothing.min, nothing.average) == (0, 0, 0, 0.0)
    if sources:
        assert progress is not None
        # The known lag is reported, and that it is incomplete.
        progress = {"sources": [*progress["sources"], {"latestOffset": ENDS, "endOffset": READ}]}
        assert lag(progress).total == 10
        assert lag(progress).known == (sources[0] == (None, "5"))


def test_the_stored_start_is_not_counted_as_a_partition() -> None:
    end = '{"t":{"0":5},"t@start":{"0":3}}'
    found = lag({"sources": [{"latestOffset": '{"t":{"0":7}}', "endOffset": end}]})
    assert dict(found.partitions) == {("t", 0): 2}
