"""Runs every documentation snippet that needs Spark as printed, on the mock cluster.

Each snippet runs in its own namespace with `spark`, as in the PySpark shell, in the order of the
pages. Invariant: frames that a snippet creates are counted, and queries run until the end, so that
lazy code is executed too.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import ottla
from ottla.testing import MockCluster, MockRegistry
from tests.spark.older_releases import refusal
from tests.support.payments import create_payments
from tests.support.snippets import Snippet, snippets

SNIPPETS = [snippet for snippet in snippets("python") if snippet.uses_spark]


def run(
    snippet: Snippet, bootstrap: str, registry: str, directory: Path, spark: SparkSession
) -> dict[str, Any]:
    """Run a snippet, and return its names; a traceback shows the line of the page."""
    text = snippet.text_for(bootstrap, directory, registry)
    names: dict[str, Any] = {"__name__": "__main__", "spark": spark}
    exec(compile(text, snippet.page, "exec"), names)
    return names


def wait_for_progress(query: StreamingQuery) -> None:
    """Wait for the end of a micro-batch."""
    deadline = time.monotonic() + 120
    while query.lastProgress is None:
        assert query.isActive, str(query.exception())
        assert time.monotonic() < deadline, "no micro-batch has ended"
        time.sleep(0.05)


def test_the_pages_have_snippets_for_spark() -> None:
    """Also assert that no snippet starts a stream under a name that is not checked below."""
    assert [snippet.page for snippet in SNIPPETS].count("docs/guides/spark.md") >= 9
    assert "README.md" in {snippet.page for snippet in SNIPPETS}
    for snippet in SNIPPETS:
        compile(snippet.text, snippet.page, "exec")
        if ".start()" in snippet.text:
            assert "query = (" in snippet.text, snippet


@pytest.mark.spark
def test_every_snippet_runs_as_printed(spark: SparkSession, tmp_path: Path) -> None:
    queries: list[StreamingQuery] = []
    with MockCluster(brokers=3) as cluster, MockRegistry() as registry:
        for topic in ("orders", "orders-a", "alerts"):
            cluster.create_topic(topic, partitions=1)
        create_payments(cluster, registry)
        cluster.append("orders", 0, [b"one", b"two", b"three"])
        cluster.append("orders-a", 0, [b"four"])
        try:
            for snippet in SNIPPETS:
                directory = tmp_path / snippet.id.replace("/", "-")
                names = run(snippet, cluster.bootstrap, registry.url, directory, spark)
                for value in list(names.values()):
                    if isinstance(value, DataFrame) and not value.isStreaming:
                        assert value.count() > 0, snippet
                query = names.get("query")
                if isinstance(query, StreamingQuery) and query.id not in {q.id for q in queries}:
                    queries.append(query)
                    try:
                        wait_for_progress(query)
                    except AssertionError as error:
                        # The page says that limits of micro-batches need a newer release.
                        if refusal(str(error)) is None:
                            raise
        finally:
            for query in queries:
                query.stop()
            spark.catalog.dropTempView("orders")
            spark.sql("DROP TABLE IF EXISTS orders_log")
        assert len(queries) == 3
        # The records of the write snippets: one batch, one report, and those of the stream.
        assert cluster.end_offset("orders", 0) >= 5
        assert cluster.end_offset("alerts", 0) == 2
        with ottla.Client(cluster.bootstrap) as client:
            values = [
                row[0]
                for batch in client.scan([("alerts", 0, 0, 2)], columns=["value"])
                for row in batch.rows()
            ]
        assert sorted(values) == [b"disk failed", b"disk full"]
