"""Spark Connect: a client without a JVM reads and writes with the format through a server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.spark.registration.redaction import OPTION_SECRETS_REGEX, REQUEST_SECRETS_REGEX
from tests.spark.connect_job import CANARY
from tests.support.jars import REPOSITORY
from tests.support.kafka_cluster import KafkaCluster
from tests.support.spark_connect import SparkConnect

pytestmark = [pytest.mark.spark, pytest.mark.cluster, pytest.mark.deep]


@pytest.mark.timeout(900)
def test_a_client_of_spark_connect(kafka: KafkaCluster, tmp_path: Path) -> None:
    for number in range(3):
        kafka.create_topic(f"connect-{number}", partitions=2)
    events = tmp_path / "events"
    events.mkdir()
    with SparkConnect(
        {"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{events}"}
    ) as server:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "tests.spark.connect_job"),
                *(server.remote, kafka.bootstrap, str(tmp_path)),
            ],
            cwd=REPOSITORY,
            env=dict(os.environ),
            capture_output=True,
            text=True,
            timeout=540,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:] + server.log
        # The server has discovered the format: registering it twice replaces nothing.
        output = server.output
    assert "Loading static Python Data Sources" in output
    assert "replaced a" not in output
    # The server's event log has each request and its plan, without secrets.
    logged = "".join(file.read_text() for file in events.rglob("*") if file.is_file())
    assert "statementText" in logged
    assert "connect-0" in logged
    assert CANARY not in logged
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["hidden"] == [f"(?:(?i)url)|{OPTION_SECRETS_REGEX}", REQUEST_SECRETS_REGEX]
    # It was a Connect session, not one with a JVM.
    assert found["kind"] == "pyspark.sql.connect.session"
    assert found["read"] == [[1000, 499_500]]
    # Three micro-batches of at most 400 records, and no lag at the end.
    assert found["stream"] == [1000, 3, 0]
    assert "did you mean subscribe" in found["wrong"]
    assert found["partitions"] == 1000
    assert found["read_arrow"] == 1000
    assert found["reported"] == 10
    assert sum(kafka.end_offset("connect-1", partition) for partition in range(2)) == 10
