"""The programs in examples/ run as they are, with a cluster in the process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from ottla.testing import Fault, MockCluster
from tests.support.jars import REPOSITORY

PRINTS = {
    "arrow_polars_duckdb.py": [
        "polars: 100000 rows of 100 sensors",
        "DuckDB: 100000 rows in 4 partitions",
    ],
    "asyncio_pipeline.py": ["1000 invoices written"],
}


def run(*command: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "OTTLA_BOOTSTRAP"}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", PRINTS)
def test_a_program_prints_what_it_found(name: str) -> None:
    assert run(f"examples/{name}").splitlines() == PRINTS[name]


def test_the_example_of_tests_passes() -> None:
    output = run("-m", "pytest", "-q", "-p", "no:randomly", "examples/test_with_mock_cluster.py")
    assert "4 passed" in output


@pytest.fixture
def address(mock_cluster: MockCluster) -> Iterator[str]:
    """The address of the FastAPI application, served by uvicorn."""
    server = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "examples.fastapi_producer:app", "--port", "0"],
        cwd=REPOSITORY,
        env={**os.environ, "KAFKA": mock_cluster.bootstrap},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    with server.stderr:
        try:
            lines = iter(server.stderr.readline, "")
            found = (re.search(r"running on (http://\S+)", line) for line in lines)
            yield next(match[1] for match in found if match)
        finally:
            server.terminate()
            server.stderr.read()
            server.wait(30)


def place_order(address: str) -> tuple[int, Any]:
    body = json.dumps({"customer": "c-1", "cents": 1250}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}/orders", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_fastapi_writes_an_order_before_it_responds(
    address: str, mock_cluster: MockCluster
) -> None:
    assert place_order(address) == (201, {"partition": 0, "offset": 0})
    assert mock_cluster.end_offset("orders", 0) == 1


def test_fastapi_reports_an_order_that_was_not_written(
    address: str, mock_cluster: MockCluster
) -> None:
    mock_cluster.inject(Fault.error("TOPIC_AUTHORIZATION_FAILED"), api="Produce")
    status, body = place_order(address)
    assert status == 503
    assert "TOPIC_AUTHORIZATION_FAILED" in body["detail"]


def test_every_example_is_run() -> None:
    by_this_file = {*PRINTS, "test_with_mock_cluster.py", "fastapi_producer.py"}
    in_spark = {"spark_kafka.py", "compile_pyspark.sh"}
    found = {path.name for path in (REPOSITORY / "examples").iterdir() if path.is_file()}
    assert found == by_this_file | in_spark
