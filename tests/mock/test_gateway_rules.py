"""Rules of a gateway: what is denied never reaches the cluster; clients get Kafka's own errors."""

from __future__ import annotations

from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

import ottla
from ottla.admin.operation_call import BlockingCall, Request, finish
from ottla.error_code import ErrorCode
from ottla.errors import AuthorizationError, ConfigError, KafkaError
from ottla.testing import Gateway, MockCluster
from tests.support.command import ottla_here
from tests.support.waiting import wait_until

EARLIEST = {"auto.offset.reset": "earliest"}


@pytest.fixture
def cluster(mock_cluster: MockCluster) -> MockCluster:
    """Provide a cluster with the topics ``open`` and ``secret``, each with a record."""
    for topic in ("open", "secret"):
        mock_cluster.create_topic(topic, partitions=2)
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        for topic in ("open", "secret"):
            producer.send(topic, value=topic.encode()).result(timeout=10)
    return mock_cluster


def _topics(admin: ottla.Admin) -> set[str]:
    return {topic.name for topic in admin.list_topics()}


def _read(
    bootstrap: str,
    topics: list[str] | None,
    group: str = "g",
    pattern: str | None = None,
    **config: Any,
) -> list[bytes]:
    with ottla.Consumer(bootstrap, config={"group.id": group, **EARLIEST, **config}) as consumer:
        consumer.subscribe(topics, pattern=pattern)
        values: list[bytes] = []

        def read() -> bool:
            values.extend(record.value or b"" for record in consumer.poll(timeout=0.2))
            return bool(values)

        wait_until(read)
        consumer.commit()
        return values


@pytest.mark.parametrize("idempotent", [False, True])
def test_nothing_is_written_through_a_read_only_gateway(
    cluster: MockCluster, idempotent: bool
) -> None:
    written = cluster.request_count(api="Produce")
    with Gateway(cluster.bootstrap, read_only=True) as gateway:
        config = {"enable.idempotence": idempotent}
        with ottla.Producer(gateway.bootstrap, config=config) as producer:
            for value in (b"small", b"v" * 100_000):
                with pytest.raises(AuthorizationError, match="AUTHORIZATION_FAILED"):
                    producer.send("open", value=value).result(timeout=10)
        assert any(event.kind == "denied" for event in gateway.events())
    assert cluster.request_count(api="Produce") == written


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_read_and_commit_through_a_read_only_gateway(
    cluster: MockCluster, protocol: str
) -> None:
    with Gateway(cluster.bootstrap, read_only=True) as gateway:
        values = _read(gateway.bootstrap, ["open"], **{"group.protocol": protocol})
    assert values == [b"open"]
    assert sum(cluster.committed("g").values()) == 1


def test_no_topic_is_created_through_a_read_only_gateway(cluster: MockCluster) -> None:
    with Gateway(cluster.bootstrap, read_only=True) as gateway:
        with ottla.Admin(gateway.bootstrap) as admin:
            with pytest.raises(AuthorizationError):
                admin.create_topics([ottla.admin.NewTopic("new")])
            with pytest.raises(AuthorizationError):
                admin.delete_topics(["open"])
            assert "open" in _topics(admin)
        producer = confluent_kafka.Producer({"bootstrap.servers": gateway.bootstrap})
        producer.list_topics("new", timeout=10)
        # The producer's own requests for metadata may create topics.
        producer.produce("new", b"v")
        producer.flush(1)
        producer.purge()
    with ottla.Admin(cluster.bootstrap) as admin:
        assert "new" not in _topics(admin)


def test_another_client_gets_kafkas_errors(cluster: MockCluster) -> None:
    with Gateway(cluster.bootstrap, no_admin=True) as gateway:
        admin = AdminClient({"bootstrap.servers": gateway.bootstrap})
        created = admin.create_topics([NewTopic("new", 1, 1)])["new"]
        with pytest.raises(confluent_kafka.KafkaException) as caught:
            created.result(10)
        assert caught.value.args[0].code() == confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED
        assert "gateway" in caught.value.args[0].str()
        producer = confluent_kafka.Producer({"bootstrap.servers": gateway.bootstrap})
        failed: list[Any] = []
        producer.produce("open", b"v", on_delivery=lambda error, _: failed.append(error))
        assert producer.flush(10) == 0
        assert failed == [None]


def test_a_denied_topic_is_neither_seen_nor_used(cluster: MockCluster) -> None:
    with Gateway(cluster.bootstrap, deny_topics=["secret.*"]) as gateway:
        with ottla.Admin(gateway.bootstrap) as admin:
            topics = _topics(admin)
            assert "open" in topics
            assert "secret" not in topics
            with pytest.raises(AuthorizationError):
                admin.describe_topics(["secret"])
            with pytest.raises(AuthorizationError):
                admin.create_topics([ottla.admin.NewTopic("secret2")])
            with pytest.raises(AuthorizationError):
                admin.describe_configs([ottla.admin.ConfigResource("topic", "secret")])
        with ottla.Producer(gateway.bootstrap) as producer:
            producer.send("open", value=b"another").result(timeout=10)
            for name in ("secret", "secret-new"):
                with pytest.raises(AuthorizationError):
                    producer.send(name, value=b"v").result(timeout=10)
        assert min(_read(gateway.bootstrap, ["open"])) in (b"another", b"open")
        with pytest.raises(AuthorizationError):
            _read(gateway.bootstrap, ["secret"], group="h")
    with ottla.Admin(cluster.bootstrap) as admin:
        assert not {"secret2", "secret-new"} & _topics(admin)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_pattern_of_a_group_finds_allowed_topics(cluster: MockCluster, protocol: str) -> None:
    with Gateway(cluster.bootstrap, allow_topics=["open"]) as gateway:
        found = _read(gateway.bootstrap, None, pattern=".*", **{"group.protocol": protocol})
    assert found == [b"open"]


def test_another_client_reads_what_it_may(cluster: MockCluster) -> None:
    with Gateway(cluster.bootstrap, allow_topics=["open"]) as gateway:
        config = {"bootstrap.servers": gateway.bootstrap, "group.id": "c", **EARLIEST}
        consumer = confluent_kafka.Consumer(config)
        assert set(consumer.list_topics(timeout=10).topics) == {"open"}
        consumer.subscribe(["open", "secret"])
        seen: set[Any] = set()

        def read() -> bool:
            message = consumer.poll(0.2)
            if message is not None:
                error = message.error()
                seen.add(message.value() if error is None else error.code())
            return len(seen) == 2

        wait_until(read)
        consumer.close()
    assert seen == {b"open", confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED}


def test_share_groups_read_allowed_topics(cluster: MockCluster) -> None:
    with ottla.Admin(cluster.bootstrap) as admin:
        resource = ottla.admin.ConfigResource("group", "s")
        admin.alter_configs({resource: {"share.auto.offset.reset": "earliest"}})
    with (
        Gateway(cluster.bootstrap, deny_topics=["secret"]) as gateway,
        ottla.ShareConsumer(gateway.bootstrap, group_id="s") as consumer,
    ):
        consumer.subscribe(["open"])
        values: list[bytes] = []

        def read() -> bool:
            values.extend(record.value or b"" for record in consumer.poll(timeout=0.2))
            return bool(values)

        wait_until(read)
        assert values == [b"open"]
        consumer.subscribe(["secret"])
        with pytest.raises(AuthorizationError):
            wait_until(lambda: bool(consumer.poll(timeout=0.2)))


def test_transactions_write_what_they_may(cluster: MockCluster) -> None:
    with (
        Gateway(cluster.bootstrap, deny_topics=["secret"], deny_groups=["h"]) as gateway,
        ottla.Producer(gateway.bootstrap, config={"transactional.id": "x"}) as producer,
    ):
        producer.init_transactions()
        with producer.transaction():
            producer.send("open", value=b"in a transaction")
        with pytest.raises(AuthorizationError), producer.transaction():
            producer.send("secret", value=b"v").result(timeout=10)
    with ottla.Consumer(cluster.bootstrap) as consumer:
        assert sum(consumer.end_offsets(("secret", 0), ("secret", 1)).values()) == 1


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_denied_group_is_neither_seen_nor_used(cluster: MockCluster, protocol: str) -> None:
    config = {"group.protocol": protocol}
    assert _read(cluster.bootstrap, ["open"], group="private", **config)
    with Gateway(cluster.bootstrap, allow_groups=["g"]) as gateway:
        assert _read(gateway.bootstrap, ["open"], **config)
        with pytest.raises(AuthorizationError):
            _read(gateway.bootstrap, ["open"], group="private", **config)
        with ottla.Admin(gateway.bootstrap) as admin:
            assert [group.group_id for group in admin.list_groups()] == ["g"]
            with pytest.raises(AuthorizationError):
                admin.delete_groups(["private"])
            with pytest.raises(AuthorizationError):
                admin.list_group_offsets(["private"])
        with ottla.ShareConsumer(gateway.bootstrap, group_id="private") as consumer:
            consumer.subscribe(["open"])
            with pytest.raises(AuthorizationError):
                wait_until(lambda: bool(consumer.poll(timeout=0.2)))


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--deny-api", "Nothing"], 'there is no API "Nothing"'),
        (["--deny-api", "Metadata"], "every client needs it"),
        (["--deny-topics", "("], '"(" is no pattern of whole names'),
    ],
)
def test_a_rule_that_is_none_is_an_error(
    cluster: MockCluster, arguments: list[str], part: str
) -> None:
    run = ottla_here("gateway", "-b", cluster.bootstrap, "--listen", "127.0.0.1:0", *arguments)
    assert run.code == 2
    assert part in run.err


def test_the_rules_of_the_command(cluster: MockCluster) -> None:
    with pytest.raises(ConfigError, match="no API"):
        Gateway(cluster.bootstrap, deny_apis=["nothing"])
    with (
        Gateway(cluster.bootstrap, deny_apis=["listgroups"]) as gateway,
        ottla.Admin(gateway.bootstrap) as admin,
        pytest.raises(KafkaError),
    ):
        admin.list_groups()


def test_a_list_of_configurations_names_nothing_that_is_hidden(cluster: MockCluster) -> None:
    for group in ("g", "private"):
        _read(cluster.bootstrap, ["open"], group=group)
    with (
        Gateway(cluster.bootstrap, deny_topics=["secret"], allow_groups=["g"]) as gateway,
        ottla.Admin(gateway.bootstrap) as admin,
    ):
        shown = {(each.type, each.name) for each in admin.list_config_resources()}
    assert ("topic", "open") in shown
    assert not {("topic", "secret"), ("group", "private")} & shown


def test_metadata_by_id_does_not_say_the_name(cluster: MockCluster) -> None:
    with ottla.Admin(cluster.bootstrap) as admin:
        ids = {topic.name: topic.topic_id for topic in admin.list_topics()}
    body = {"topics": [{"topic_id": ids["secret"], "name": "any"}]}
    with (
        Gateway(cluster.bootstrap, deny_topics=["secret"]) as gateway,
        ottla.Admin(gateway.bootstrap) as admin,
    ):
        call = BlockingCall(admin._begin("asking for the metadata", 30))
        [topic] = finish(call.ask(Request("Metadata", body))).body["topics"]
    assert topic["error_code"] == ErrorCode.UNKNOWN_TOPIC_ID
    assert topic["name"] is None
