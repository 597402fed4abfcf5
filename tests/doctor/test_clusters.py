"""The doctor on faulty clusters: the mock has the fault of the real one."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest

import ottla
from ottla.testing import Fault, MockCluster
from tests.doctor.verdicts import BROKER, OTHER, check_verdict, port_of
from tests.support.golden import Replacements
from tests.support.tcp_proxy import tcp_proxy


@pytest.fixture
def topic(mock_cluster: MockCluster) -> str:
    """A topic of three partitions."""
    mock_cluster.create_topic("orders", partitions=3)
    return "orders"


def shown(cluster: MockCluster, slow: bool = False, **others: int) -> Replacements:
    """Show the brokers' ports as 9092, 9093, … and another one as 8080."""
    ports = {port_of(address): BROKER + i - 1 for i, address in cluster.brokers.items()}
    return Replacements({**ports, **dict.fromkeys(others.values(), OTHER)}, seconds=slow)


def cluster_id_of(cluster: MockCluster) -> str:
    """Return the id of a cluster."""
    with ottla.Client(cluster.bootstrap) as client:
        return str(client.cluster().cluster_id)


def test_one_of_three_names_is_wrong(mock_cluster: MockCluster, topic: str) -> None:
    first, second = mock_cluster.brokers[1], mock_cluster.brokers[2]
    servers = f"{first},kafka-gone.invalid:9092,{second}"
    report = ottla.diagnose(servers, topic=topic)
    check_verdict("clusters/one_dead_name", report, shown(mock_cluster))


@pytest.mark.deep
def test_a_slow_broker(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.inject(Fault.delay(2), broker=2)
    report = ottla.diagnose(mock_cluster.brokers[1], topic=topic, timeout=60)
    check_verdict("clusters/slow_broker", report, shown(mock_cluster, slow=True), exact=False)


def test_a_broker_that_closes_connections(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.inject(Fault.disconnect(), api="Metadata", broker=2)
    report = ottla.diagnose(mock_cluster.brokers[1], topic=topic)
    check_verdict("clusters/broker_closes", report, shown(mock_cluster))


def test_responses_that_are_cut(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.inject(Fault.truncate_frame(), api="Metadata", broker=2)
    report = ottla.diagnose(mock_cluster.brokers[1], topic=topic)
    check_verdict("clusters/truncated_response", report, shown(mock_cluster))


def test_two_clusters_behind_one_address() -> None:
    with (
        MockCluster(brokers=1) as one,
        MockCluster(brokers=1) as two,
        tcp_proxy([one.brokers[1], two.brokers[1]]) as port,
    ):
        shows = Replacements({port: OTHER}, {cluster_id_of(two): "another-cluster"})
        for cluster in (one, two):
            cluster.create_topic("orders")
            cluster.advertise(1, f"127.0.0.1:{port}")
        report = ottla.diagnose(f"127.0.0.1:{port}")
    # After the first one, which connection leads to which cluster is a matter of chance.
    check_verdict("clusters/two_behind_one_name", report, shows, exact=False)


def test_two_brokers_behind_each_address(mock_cluster: MockCluster, topic: str) -> None:
    servers = list(mock_cluster.brokers.values())
    bootstrap, ports = servers[0], {port_of(servers[0]): BROKER}
    with contextlib.ExitStack() as proxies:
        for index, server in enumerate(servers):
            following = servers[(index + 1) % len(servers)]
            port = proxies.enter_context(tcp_proxy([server, following]))
            mock_cluster.advertise(index + 1, f"127.0.0.1:{port}")
            ports[port] = OTHER + index + 1
        report = ottla.diagnose(bootstrap, topic=topic)
    check_verdict("clusters/two_behind_each_address", report, Replacements(ports))


def test_an_address_of_another_cluster(mock_cluster: MockCluster, topic: str) -> None:
    with MockCluster(brokers=3) as other:
        other.create_topic("others", partitions=3)
        shows = shown(mock_cluster, other=port_of(other.brokers[2]))
        shows = replace(shows, texts={cluster_id_of(other): "another-cluster"})
        mock_cluster.advertise(2, other.brokers[2])
        report = ottla.diagnose(mock_cluster.brokers[1], topic=topic)
    check_verdict("clusters/broker_of_another_cluster", report, shows)


def test_the_unspecified_address(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.advertise(2, f"0.0.0.0:{port_of(mock_cluster.brokers[2])}")
    report = ottla.diagnose(mock_cluster.brokers[1], topic=topic)
    check_verdict("clusters/advertised_unspecified", report, shown(mock_cluster))


def test_port_zero(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.advertise(2, "127.0.0.1:0")
    report = ottla.diagnose(mock_cluster.brokers[1], topic=topic)
    check_verdict("clusters/advertised_port_zero", report, shown(mock_cluster))


@pytest.mark.parametrize(
    ("name", "host"),
    [("advertised_trailing_dot", "localhost."), ("advertised_upper_case", "LOCALHOST")],
)
def test_unusual_spellings_of_a_name(
    mock_cluster: MockCluster, topic: str, name: str, host: str
) -> None:
    shows = shown(mock_cluster)
    for broker, address in mock_cluster.brokers.items():
        mock_cluster.advertise(broker, f"{host}:{port_of(address)}")
    # The name has an IPv6 address where this machine has IPv6.
    report = ottla.diagnose(mock_cluster.brokers[1], {"client.dns.lookup": "use_all_dns_ips"})
    check_verdict(f"clusters/{name}", report, shows, exact=False)


def test_the_name_of_a_container(mock_cluster: MockCluster, topic: str) -> None:
    shows = shown(mock_cluster)
    mock_cluster.advertise(2, "kafka-broker-2:9092")
    report = ottla.diagnose(mock_cluster.brokers[1], topic=topic)
    check_verdict("clusters/container_name", report, shows)


def test_a_group_without_permission(mock_cluster: MockCluster, topic: str) -> None:
    for api in ("FindCoordinator", "DescribeGroups", "ConsumerGroupDescribe"):
        mock_cluster.inject(Fault.error("GROUP_AUTHORIZATION_FAILED"), api=api)
    report = ottla.diagnose(mock_cluster.brokers[1], topic=topic, group="billing")
    check_verdict("clusters/group_denied", report, shown(mock_cluster))


def test_a_topic_without_permission(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.inject(Fault.error("TOPIC_AUTHORIZATION_FAILED"), api="Metadata", topic=topic)
    report = ottla.diagnose(mock_cluster.brokers[1], topic=topic)
    check_verdict("clusters/topic_denied", report, shown(mock_cluster))


def test_a_cluster_without_permission(mock_cluster: MockCluster, topic: str) -> None:
    denied = Fault.error("CLUSTER_AUTHORIZATION_FAILED")
    for api in ("DescribeQuorum", "DescribeConfigs", "DescribeLogDirs", "ListTransactions"):
        mock_cluster.inject(denied, api=api)
    report = ottla.diagnose(mock_cluster.brokers[1], topic=topic)
    check_verdict("clusters/cluster_denied", report, shown(mock_cluster))


def test_a_coordinator_that_loads(mock_cluster: MockCluster, topic: str) -> None:
    for api in ("DescribeGroups", "ConsumerGroupDescribe"):
        mock_cluster.inject(Fault.error("COORDINATOR_LOAD_IN_PROGRESS"), api=api)
    report = ottla.diagnose(mock_cluster.brokers[1], topic=topic, group="billing", timeout=8)
    check_verdict("clusters/coordinator_loading", report, shown(mock_cluster), exact=False)


def test_a_failed_disk(mock_cluster: MockCluster, topic: str) -> None:
    for api in ("ListOffsets", "Fetch", "DescribeLogDirs"):
        mock_cluster.inject(Fault.error("KAFKA_STORAGE_ERROR"), api=api, broker=2)
    report = ottla.diagnose(mock_cluster.brokers[1], topic=topic, timeout=8)
    check_verdict("clusters/storage_error", report, shown(mock_cluster))


def test_older_brokers() -> None:
    lacking = ["DescribeQuorum", "DescribeProducers", "ListTransactions", "DescribeCluster"]
    with MockCluster(brokers=3, without=lacking) as cluster:
        cluster.create_topic("orders", partitions=3)
        report = ottla.diagnose(cluster.brokers[1], topic="orders", group="billing")
        check_verdict("clusters/old_apis", report, shown(cluster))


@pytest.mark.deep
def test_a_throttled_client(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.inject(Fault.throttle(1500))
    report = ottla.diagnose(mock_cluster.brokers[1], topic=topic, timeout=60)
    check_verdict("clusters/throttled", report, shown(mock_cluster, slow=True), exact=False)
