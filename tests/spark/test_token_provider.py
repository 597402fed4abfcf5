"""Tokens from a callable that an option names: imported and called on the driver and in tasks.

The environment of the session allows it, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from ottla.spark.options.read_options import parse_batch_options
from ottla.testing import MockCluster
from tests.spark.conftest import TOKEN_FILE
from tests.support.identity_endpoints import service_account_token
from tests.support.snippets import snippets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOKEN = "hunter2-the-token"
MODULE = "ottla_example_tokens"
# It appends a line for each process that calls it.
TEXT = f"""
import os
import time

def token():
    with open({{calls!r}}, "a") as calls:
        calls.write(f"{{{{os.getpid()}}}}\\n")
    return {TOKEN!r}, time.time() + 3600

other = token
"""


@pytest.fixture
def secured() -> Iterator[MockCluster]:
    """A cluster that accepts the token, with three records."""
    with MockCluster(brokers=1, users={"ann": TOKEN}) as cluster:
        cluster.create_topic("orders", 1)
        cluster.append("orders", 0, [b"one", b"two", b"three"])
        yield cluster


def options_for(cluster: MockCluster, provider: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": cluster.bootstrap,
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "OAUTHBEARER",
        "kafka.sasl.oauthbearer.token.provider": provider,
        "subscribe": "orders",
    }


def test_the_documented_options_are_accepted() -> None:
    (snippet,) = (
        s
        for s in snippets("python")
        if "aws-msk-iam" in s.text and s.page.endswith("spark-cluster.md")
    )
    names: dict[str, Any] = {}
    exec(snippet.text, names)
    kafka = parse_batch_options(names["options"]).common.kafka
    assert kafka["sasl.oauthbearer.token.provider"] == "aws-msk-iam?region=eu-central-1"


@pytest.mark.spark
def test_driver_and_tasks_call_the_named_token_provider(
    spark: SparkSession, secured: MockCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    calls, module = tmp_path / "calls", tmp_path / f"{MODULE}.py"
    module.write_text(TEXT.format(calls=str(calls)))
    spark.addArtifact(str(module), pyfile=True)
    frame = spark.read.format("ottla").options(**options_for(secured, f"{MODULE}:token")).load()
    assert sorted(bytes(row.value) for row in frame.collect()) == [b"one", b"three", b"two"]
    # The process that plans, and the one that reads.
    assert len(set(calls.read_text().split())) >= 2
    frame.explain(extended=True)
    assert TOKEN not in "".join(capfd.readouterr())

    missing = options_for(secured, "ottla_example_missing:token")
    with pytest.raises(PySparkException, match=r"cannot be imported.*py-files"):
        spark.read.format("ottla").options(**missing).load().collect()

    refused = options_for(secured, f"{MODULE}:other")
    with pytest.raises(PySparkException, match=r"spark\.executorEnv\.OTTLA_TOKEN_PROVIDERS"):
        spark.read.format("ottla").options(**refused).load().collect()


@pytest.mark.spark
def test_driver_and_tasks_use_a_named_identity(spark: SparkSession) -> None:
    token = service_account_token("billing")
    TOKEN_FILE.write_text(token)
    try:
        with MockCluster(brokers=1, users={"ann": token}) as cluster:
            cluster.create_topic("orders", 1)
            cluster.append("orders", 0, [b"one", b"two"])
            options = options_for(cluster, f"kubernetes?file={TOKEN_FILE}")
            frame = spark.read.format("ottla").options(**options).load()
            assert sorted(bytes(row.value) for row in frame.collect()) == [b"one", b"two"]
            # The executors need the same permission, for the same arguments.
            refused = options_for(cluster, f"kubernetes?file={TOKEN_FILE}.other")
            with pytest.raises(
                PySparkException, match=r"spark\.executorEnv\.OTTLA_TOKEN_PROVIDERS"
            ):
                spark.read.format("ottla").options(**refused).load().collect()
    finally:
        TOKEN_FILE.unlink()
