"""One fixture for two clusters: the same tests run on the mock and on real brokers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import ottla
from ottla.admin import ConfigResource
from ottla.testing import MockCluster
from tests.cluster.releases import skip_what_the_release_lacks
from tests.support import kafka_properties, kafka_releases
from tests.support.admins import admin_of_kind
from tests.support.consumers import SHARE_KINDS
from tests.support.kafka_cluster import KafkaCluster


class Brokers:
    """The operations that both clusters support."""

    def __init__(self, cluster: MockCluster | KafkaCluster) -> None:
        self.cluster = cluster
        self.bootstrap = cluster.bootstrap
        self.is_mock = isinstance(cluster, MockCluster)
        self.release = "mock" if isinstance(cluster, MockCluster) else cluster.release

    def has(self, release: tuple[int, int]) -> bool:
        """Return whether this is a release or a newer one; the mock is as the newest."""
        return self.is_mock or kafka_releases.number(self.release) >= release

    def create_topic(self, partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
        """Create a uniquely named topic with three replicas and return its name."""
        name = f"both-{uuid.uuid4().hex[:12]}"
        # Keep records with old timestamps: retention must not delete them.
        self.cluster.create_topic(name, partitions, 3, {"retention.ms": "-1", **(config or {})})
        return name

    def set_transaction_version(self, level: int) -> None:
        """Finalize a level of the feature ``transaction.version``."""
        self.cluster.set_transaction_version(level)

    def leave_transaction_hanging(
        self, topic: str, partition: int, producer_id: int, values: Sequence[str]
    ) -> None:
        """Write records of a transaction that no coordinator knows, and that none will end."""
        if isinstance(self.cluster, MockCluster):
            encoded = [value.encode() for value in values]
            self.cluster.append_in_transaction(topic, partition, producer_id, encoded)
        else:
            self.cluster.leave_transaction_hanging(topic, partition, producer_id, values)

    def assert_tool_shows(self, expected: Sequence[str], main: str, *arguments: str) -> None:
        """Assert that the output of a tool of Kafka's contains texts; only of real brokers."""
        if isinstance(self.cluster, KafkaCluster):
            shown = self.cluster.run_tool(main, "--bootstrap-server", self.bootstrap, *arguments)
            assert all(text in shown for text in expected), shown

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Delete the records before an offset."""
        self.cluster.delete_records(topic, partition, before)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave protocol 1 of transactions to `make deep`, in Spark's tests on real brokers.

    The mock runs these tests with both, and tests/compat has protocol 1 on real brokers. Skip what
    a selected older release lacks.
    """
    here = Path(__file__).parent
    skip_what_the_release_lacks(item for item in items if here in item.path.parents)
    for item in items:
        if (
            item.path.parent == Path(__file__).parent
            and item.path.name.startswith("test_spark_")
            and item.get_closest_marker("cluster")
            and isinstance(item, pytest.Function)
            and getattr(item, "callspec", None) is not None
            and item.callspec.params.get("transaction_level") == 0
        ):
            item.add_marker("deep")


@pytest.fixture(scope="module", params=[0, 2])
def transaction_level(request: pytest.FixtureRequest) -> int:
    """The levels of ``transaction.version``, in one change per module: a change takes a second."""
    level: int = request.param
    return level


@pytest.fixture
def transaction_version(brokers: Brokers, transaction_level: int) -> int:
    """The level of ``transaction.version``: protocol 1, then protocol 2 (KIP-890)."""
    brokers.set_transaction_version(transaction_level)
    return transaction_level


@pytest.fixture(params=["sync", "asyncio"])
def admin_kind(request: pytest.FixtureRequest) -> str:
    """The kinds of Admin."""
    kind: str = request.param
    return kind


@pytest.fixture
def admin(admin_kind: str, kafka: KafkaCluster) -> Iterator[ottla.Admin]:
    """An Admin of real brokers; an ``AsyncAdmin`` is called like an ``Admin``."""
    with admin_of_kind(admin_kind, kafka.bootstrap) as admin:
        yield admin


@pytest.fixture(params=["mock", pytest.param("kafka", marks=pytest.mark.cluster)])
def brokers(request: pytest.FixtureRequest) -> Brokers:
    """A cluster of three brokers: first the mock, then a real one."""
    name: dict[str, Any] = {"mock": "mock_cluster", "kafka": "kafka"}
    return Brokers(request.getfixturevalue(name[request.param]))


@pytest.fixture(scope="module")
def authorizing_kafka() -> Iterator[KafkaCluster]:
    """Provide a broker that checks ACLs; everyone here may do all."""
    authorizer = kafka_properties.authorizer(kafka_releases.selected())
    with KafkaCluster(1, authorizer) as cluster:
        yield cluster


def controllers_of(kafka: KafkaCluster) -> str:
    """Return the addresses of the controllers' listeners."""
    ports = [node.properties["listeners"].rpartition(":")[2] for node in kafka.nodes.values()]
    return ",".join(f"127.0.0.1:{port}" for port in ports)


@pytest.fixture(
    params=[
        ("mock", "sync"),
        ("mock", "asyncio"),
        pytest.param(("kafka", "sync"), marks=pytest.mark.cluster),
        pytest.param(("kafka", "asyncio"), marks=[pytest.mark.cluster, pytest.mark.deep]),
    ],
    ids="-".join,
)
def share_cluster_and_kind(request: pytest.FixtureRequest) -> tuple[Brokers, Any]:
    """A cluster, and the class of the share consumer: blocking or asyncio."""
    cluster, kind = request.param
    fixture = "mock_cluster" if cluster == "mock" else "kafka"
    return Brokers(request.getfixturevalue(fixture)), SHARE_KINDS[kind]


def new_share_group(brokers: Brokers, **config: str) -> str:
    """Return a share group that begins at the first record."""
    name = f"share-{uuid.uuid4().hex[:12]}"
    configs = {"share.auto.offset.reset": "earliest"}
    configs |= {key.replace("_", "."): value for key, value in config.items()}
    with ottla.Admin(brokers.bootstrap) as admin:
        admin.alter_configs({ConfigResource("group", name): configs})
    return name
