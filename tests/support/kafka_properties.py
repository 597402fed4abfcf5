"""The configuration of test brokers: every deviation from Kafka's defaults, with its reason."""

from __future__ import annotations

from pathlib import Path

from tests.support.kafka_releases import ZOOKEEPER_RELEASES

SETTINGS = {
    # A test that forgets to create its topic should fail.
    "auto.create.topics.enable": "false",
    # Internal topics on all nodes, so that any node may be killed; few partitions, for a fast
    # start.
    "offsets.topic.num.partitions": "5",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "5",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.num.partitions": "5",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    # A machine that pauses for seconds must not fence brokers, shrink ISRs or elect controllers.
    "broker.session.timeout.ms": "60000",
    "broker.heartbeat.interval.ms": "500",
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.fetch.timeout.ms": "30000",
    # Clients with a rack fetch from replicas in it.
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    # Groups are stable at once.
    "group.initial.rebalance.delay.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    # A group may let sessions expire, and members learn of their partitions, in test time.
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.session.timeout.ms": "3000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    # Members of share groups learn of their partitions, and locks expire, in test time.
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.min.record.lock.duration.ms": "1000",
    # Leaders move only when a test moves them.
    "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.enable": "true",
    # Aborted and expired transactions in test time.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "log.retention.check.interval.ms": "1000",
    "log.initial.task.delay.ms": "1000",
    # Compaction in test time.
    "log.cleaner.backoff.ms": "200",
    "num.recovery.threads.per.data.dir": "2",
    "num.network.threads": "2",
    "num.io.threads": "4",
}

# For tests that kill brokers: a killed broker loses its leaderships within 3 s, a killed
# controller is replaced within 1 to 2 s.
FAST_FAILOVER = {
    "broker.session.timeout.ms": "3000",
    "controller.quorum.fetch.timeout.ms": "1000",
    "replica.lag.time.max.ms": "5000",
}


def authorizer(release: str) -> dict[str, str]:
    """Return the properties for tests of ACLs: everyone without a name may do all."""
    name = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    if release in ZOOKEEPER_RELEASES:
        name = "kafka.security.authorizer.AclAuthorizer"
    return {"authorizer.class.name": name, "super.users": "User:ANONYMOUS"}


def common(brokers: int, directory: Path, rack: str) -> dict[str, str]:
    """Return the properties of all releases; replication factors are limited to the brokers."""
    replicas = {k: str(min(int(SETTINGS[k]), brokers)) for k in SETTINGS if _is_replica(k)}
    return {**SETTINGS, **replicas, "log.dirs": str(directory / "data"), "broker.rack": rack}


def kraft(node_id: int, host: str, port: int, controller_port: int, voters: str) -> dict[str, str]:
    """Return the properties of a combined broker and controller."""
    return {
        "node.id": str(node_id),
        "process.roles": "broker,controller",
        "controller.quorum.voters": voters,
        "listeners": f"PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{host}:{port}",
        "controller.listener.names": "CONTROLLER",
    }


def zookeeper_broker(node_id: int, host: str, port: int, zookeeper_port: int) -> dict[str, str]:
    """Return the properties of a broker with ZooKeeper, as up to Kafka 3.9."""
    return {
        "broker.id": str(node_id),
        "zookeeper.connect": f"{host}:{zookeeper_port}",
        # A machine that pauses for seconds must not end a session or a start.
        "zookeeper.session.timeout.ms": "30000",
        "zookeeper.connection.timeout.ms": "90000",
        "listeners": f"PLAINTEXT://{host}:{port}",
    }


def zookeeper(host: str, port: int, directory: Path) -> dict[str, str]:
    """Return the properties of a standalone ZooKeeper server."""
    return {
        "dataDir": str(directory / "data"),
        "clientPortAddress": host,
        "clientPort": str(port),
        # A session may be twenty times as long.
        "tickTime": "2000",
        # A disk that is busy with other tests must not stop it: each session is a write.
        "forceSync": "no",
        "preAllocSize": "1024",
        "admin.enableServer": "false",
    }


def _is_replica(key: str) -> bool:
    return key.endswith(("replication.factor", "min.isr"))
