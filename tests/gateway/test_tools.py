"""Kafka's tools for topics and groups, and the clients of its system tests, behind a gateway."""

from __future__ import annotations

import json
import uuid

import ottla
from ottla.testing import Gateway
from tests.gateway.clients import run
from tests.support.committed import committed_rows
from tests.support.group_offsets import group_offsets
from tests.support.guarded_kafka import GuardedKafka
from tests.support.kafka_releases import OLDEST
from tests.support.waiting import wait_until

TOOLS = "org.apache.kafka.tools"
COUNT = 500
PARTITIONS = 6


def _tool(kafka: GuardedKafka, name: str) -> str:
    """Return the class of a tool that administers."""
    if kafka.release == OLDEST:
        return f"kafka.admin.{name}"
    return f"{TOOLS}.consumer.group.{name}" if "Group" in name else f"{TOOLS}.{name}"


def _events(output: bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in output.splitlines()]


def test_topics(guarded: GuardedKafka, gateway: Gateway) -> None:
    name, main = f"tools-{uuid.uuid4().hex[:8]}", _tool(guarded, "TopicCommand")
    servers = "--bootstrap-server", gateway.bootstrap
    shape = ("--partitions", "4", "--replication-factor", "3", "--config", "retention.ms=60000")
    guarded.run_tool(main, *servers, "--create", "--topic", name, *shape)
    assert name in guarded.run_tool(main, *servers, "--list").splitlines()
    shown = guarded.run_tool(main, *servers, "--describe", "--topic", name)
    assert "PartitionCount: 4" in shown
    assert "retention.ms=60000" in shown
    guarded.run_tool(main, *servers, "--alter", "--topic", name, "--partitions", "5")
    with ottla.Client(guarded.bootstrap) as client:

        def has_five() -> bool:
            found = client.cluster([name], refresh=True).topics[name].partitions
            return len(found) == 5

        # Brokers learn of it one after the other.
        wait_until(has_five)
    guarded.run_tool(main, *servers, "--delete", "--topic", name)


def test_verifiable_clients_and_the_groups_tool(
    guarded: GuardedKafka, gateway: Gateway, topic: str
) -> None:
    group = f"group-{uuid.uuid4().hex[:8]}"
    common = "--bootstrap-server", gateway.bootstrap, "--topic", topic, "--max-messages", str(COUNT)
    sent = _events(run(guarded.tool(f"{TOOLS}.VerifiableProducer", *common)))
    acknowledged = {
        (event["partition"], event["offset"]): str(event["value"])
        for event in sent
        if event["name"] == "producer_send_success"
    }
    assert sorted(map(int, acknowledged.values())) == [*range(COUNT)]
    member = ("--group-id", group, "--reset-policy", "earliest", "--verbose")
    events = _events(run(guarded.tool(f"{TOOLS}.VerifiableConsumer", *common, *member)))
    found = {
        (event["partition"], event["offset"]): event["value"]
        for event in events
        if event["name"] == "record_data"
    }
    assert found == acknowledged
    servers = "--bootstrap-server", gateway.bootstrap
    main = _tool(guarded, "ConsumerGroupCommand")
    shown = guarded.run_tool(main, *servers, "--describe", "--group", group)
    rows = [line.split() for line in shown.splitlines() if line.startswith(f"{group} ")]
    assert {row[1] for row in rows} == {topic}
    assert [sum(int(row[column]) for row in rows) for column in (3, 4, 5)] == [COUNT, COUNT, 0]
    with ottla.Admin(guarded.bootstrap) as admin:
        assert sum(group_offsets(admin, group).values()) == COUNT


def test_the_transactional_copier(guarded: GuardedKafka, gateway: Gateway, topic: str) -> None:
    target, name = f"target-{uuid.uuid4().hex[:8]}", f"copier-{uuid.uuid4().hex[:8]}"
    guarded.create_topic(target, PARTITIONS, 3)
    with ottla.Producer(guarded.bootstrap) as producer:
        producer.send_batch(topic, [b"%d" % n for n in range(COUNT)], partitions=[0] * COUNT)
    run(
        guarded.tool(
            f"{TOOLS}.TransactionalMessageCopier",
            *("--broker-list", gateway.bootstrap, "--input-topic", topic),
            *("--output-topic", target, "--input-partition", "0", "--transactional-id", name),
            *("--consumer-group", name, "--transaction-size", "50", "--enable-random-aborts"),
        )
    )
    values = [int(row["value"]) for row in committed_rows(guarded.bootstrap, target)]
    assert sorted(values) == [*range(COUNT)]
