"""One Spark session for all tests here, with Spark's own Kafka connector as the oracle."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark import gate, older_releases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.fake_client import FakeClient
    from tests.spark.streams import Streams
    from tests.support.kafka_cluster import KafkaCluster


# Without a session: pushed filters came with Spark 4.1, the admission control of sources with 4.2.
_SINCE = {
    (4, 1): ["test_read_description.py", "test_task_packing.py"],
    (4, 2): ["test_options.py", "test_stream_checkpoint.py", "test_stream_planner.py"],
}
collect_ignore = [
    file for release, files in _SINCE.items() if older_releases.line() < release for file in files
]

# A file that only a test of this process writes.
TOKEN_FILE = Path(tempfile.gettempdir()) / f"ottla-spark-token-{os.getpid()}"
ALLOWED_TOKEN_PROVIDERS = (
    "ottla_example_tokens:token",
    "ottla_example_missing:token",
    f"kubernetes?file={TOKEN_FILE}",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests except the cases of the gate as deep."""
    here = Path(__file__).parent
    gate.mark_deep(item for item in items if here in item.path.parents)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip tests of options that an older release of Spark does not support."""
    report = yield
    older_releases.skip_if_refused(report)
    return report


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session on two local cores that listens on loopback only."""
    from pyspark.sql import SparkSession

    import ottla.spark
    from tests.support.jars import spark_connector
    from tests.support.spark_home import spark_home

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["SPARK_HOME"] = spark_home()
    # The processes that Spark starts inherit it from the JVM.
    os.environ["OTTLA_TOKEN_PROVIDERS"] = ",".join(ALLOWED_TOKEN_PROVIDERS)
    session = (
        SparkSession.builder.master("local[2]")
        .appName("ottla-tests")
        .config("spark.jars", spark_connector())
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        # Queries are short: the second compiler would cost more than it gains.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    ottla.spark.register(session)
    yield session
    session.stop()


@pytest.fixture
def streams(spark: SparkSession, kafka: KafkaCluster, tmp_path: Path) -> Streams:
    """Queries with either source, with checkpoints in the test's own directory."""
    from tests.spark.streams import Streams

    return Streams(spark, kafka, tmp_path)


@pytest.fixture
def stream_client(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    """The fake client of stream planners: at first, one topic of two partitions."""
    from ottla.spark.planning import stream_planner
    from tests.spark.fake_client import FakeClient

    fake = FakeClient({("t", 0): (0, 100), ("t", 1): (10, 30)})
    monkeypatch.setattr(stream_planner, "client_for", lambda *_, **__: fake)
    return fake
