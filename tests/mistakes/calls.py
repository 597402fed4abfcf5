"""Mistakes in calls and configuration: each raises an exception in the faulty call."""

from __future__ import annotations

import contextlib
import threading
from datetime import datetime
from typing import Any

import ottla
from ottla.errors import WakeupError
from ottla.testing import Fault
from tests.mistakes.scene import Make, Reported, Scene, raised
from tests.support.child import run_child


def any_call(call: Any) -> Any:
    """Hide the types of a callable: a type checker would report these mistakes."""
    return call


def misspelt_key(scene: Scene) -> Reported:
    return raised(lambda: any_call(ottla.Producer)(scene.bootstrap, lingerms=5))


def wrong_value(scene: Scene) -> Reported:
    return raised(lambda: any_call(ottla.Producer)(scene.bootstrap, linger_ms="soon"))


def out_of_range(scene: Scene) -> Reported:
    return raised(lambda: ottla.Producer(scene.bootstrap, linger_ms=-5))


def contradictory_keys(scene: Scene) -> Reported:
    config = {"delivery.timeout.ms": 1000, "request.timeout.ms": 5000}
    return raised(lambda: ottla.Producer(scene.bootstrap, config))


def address_without_port(scene: Scene) -> Reported:
    return raised(lambda: ottla.Client("kafka1.example.com"))


def url_as_address(scene: Scene) -> Reported:
    return raised(lambda: ottla.Client("https://kafka1.example.com:9092"))


def no_address(scene: Scene) -> Reported:
    return raised(lambda: ottla.Client())


def missing_truststore(scene: Scene) -> Reported:
    config = {"security.protocol": "SSL", "ssl.truststore.location": "/etc/kafka/missing.pem"}
    return raised(lambda: ottla.Client(scene.bootstrap, config))


def password_without_user(scene: Scene) -> Reported:
    config = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.password": "secret",
    }
    return raised(lambda: ottla.Client(scene.bootstrap, config))


def misspelt_topic_read(scene: Scene) -> Reported:
    return raised(lambda: ottla.scan("order", scene.bootstrap))


def invalid_topic_name(scene: Scene) -> Reported:
    def write() -> None:
        with ottla.Producer(scene.bootstrap) as producer:
            producer.send("my orders", b"v").result()

    return raised(write)


def missing_partition_written(scene: Scene) -> Reported:
    def write() -> None:
        with ottla.Producer(scene.bootstrap, max_block_ms=2000) as producer:
            producer.send("orders", b"v", partition=7).result()

    return raised(write)


def value_of_a_wrong_type(scene: Scene) -> Reported:
    with ottla.Producer(scene.bootstrap) as producer:
        return raised(lambda: any_call(producer.send)("orders", {"id": 1}))


def key_of_a_wrong_type(scene: Scene) -> Reported:
    with ottla.Producer(scene.bootstrap) as producer:
        return raised(lambda: any_call(producer.send)("orders", b"v", 17))


def record_above_the_limit(scene: Scene) -> Reported:
    with ottla.Producer(scene.bootstrap) as producer:
        return raised(lambda: producer.send("orders", b"x" * 2_000_000, partition=0).result())


def no_key_on_a_compacted_topic(scene: Scene) -> Reported:
    scene.cluster.create_topic("compacted", configs={"cleanup.policy": "compact"})
    with ottla.Producer(scene.bootstrap) as producer:
        return raised(lambda: producer.send("compacted", b"v").result())


def sent_after_close(scene: Scene) -> Reported:
    producer = ottla.Producer(scene.bootstrap)
    producer.close()
    return raised(lambda: producer.send("orders", b"v"))


def polled_after_close(scene: Scene) -> Reported:
    consumer = ottla.Consumer(scene.bootstrap, topics=["orders"], group_id="billing")
    consumer.close()
    return raised(consumer.poll)


def polled_without_subscription(scene: Scene) -> Reported:
    with ottla.Consumer(scene.bootstrap) as consumer:
        return raised(consumer.poll)


def committed_without_group(scene: Scene) -> Reported:
    with ottla.Consumer(scene.bootstrap) as consumer:
        consumer.assign([("orders", 0)])
        return raised(consumer.commit)


def subscribed_and_assigned(scene: Scene) -> Reported:
    with ottla.Consumer(scene.bootstrap, topics=["orders"], group_id="billing") as consumer:
        return raised(lambda: consumer.assign([("orders", 0)]))


def seek_to_negative_offset(scene: Scene) -> Reported:
    with ottla.Consumer(scene.bootstrap) as consumer:
        consumer.assign([("orders", 0)])
        return raised(lambda: consumer.seek("orders", 0, -5))


def no_offset_and_no_reset(scene: Scene) -> Reported:
    with ottla.Consumer(scene.bootstrap, auto_offset_reset="none") as consumer:
        consumer.assign([("orders", 0)])
        return raised(lambda: consumer.poll(timeout=30))


def undecodable_value(scene: Scene) -> Reported:
    scene.cluster.append("orders", 0, [b"\xff"])
    with ottla.Consumer(
        scene.bootstrap, value_deserializer=bytes.decode, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([("orders", 0)])
        return raised(lambda: consumer.poll(timeout=30))


def two_threads_poll(scene: Scene) -> Reported:
    with ottla.Consumer(scene.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([("orders", 0)])
        other = threading.Thread(target=_poll_until_woken, args=(consumer,))
        other.start()
        try:
            while True:
                try:
                    consumer.poll(timeout=0)
                except ottla.errors.StateError as error:
                    return raised(lambda error=error: _raise(error))  # type: ignore[misc]
        finally:
            consumer.wakeup()
            other.join()


def _poll_until_woken(consumer: ottla.Consumer) -> None:
    with contextlib.suppress(WakeupError):
        consumer.poll(timeout=60)


def _raise(error: Exception) -> None:
    raise error


def used_after_fork(scene: Scene) -> Reported:
    ended = run_child(
        f"""
        import os
        client = ottla.Client({scene.bootstrap!r})
        child = os.fork()
        if child == 0:
            try:
                client.topic_names()
            except ottla.errors.KafkaError as error:
                say(f"{{type(error).__name__}}|{{error}}")
            os._exit(0)
        os.waitpid(child, 0)
        """
    )
    where, _, text = ended.output.strip().splitlines()[-1].partition("|")
    return Reported(0.0, where, text)


def naive_datetime(scene: Scene) -> Reported:
    start = datetime(2026, 1, 1)  # noqa: DTZ001 - the mistake
    return raised(lambda: ottla.scan("orders", scene.bootstrap, start=start))


def missing_column(scene: Scene) -> Reported:
    return raised(lambda: ottla.scan("orders", scene.bootstrap, columns=["valeu"]))


def topic_not_allowed(scene: Scene) -> Reported:
    scene.cluster.inject(Fault.error("TOPIC_AUTHORIZATION_FAILED"), api="Produce")
    with ottla.Producer(scene.bootstrap) as producer:
        return raised(lambda: producer.send("orders", b"v", partition=0).result())


def group_not_allowed(scene: Scene) -> Reported:
    scene.cluster.inject(Fault.error("GROUP_AUTHORIZATION_FAILED"), api="FindCoordinator")
    with ottla.Consumer(scene.bootstrap, topics=["orders"], group_id="billing") as consumer:
        return raised(lambda: consumer.poll(timeout=30))


def topic_that_exists(scene: Scene) -> Reported:
    with ottla.Admin(scene.bootstrap) as admin:
        return raised(lambda: admin.create_topic("orders", partitions=3))


CALLS: dict[str, Make] = {
    "a misspelt configuration key": misspelt_key,
    "a value of a wrong type": wrong_value,
    "a value out of range": out_of_range,
    "keys that contradict each other": contradictory_keys,
    "an address without a port": address_without_port,
    "a URL as an address": url_as_address,
    "no address at all": no_address,
    "a trust store that does not exist": missing_truststore,
    "a password without a user": password_without_user,
    "a misspelt topic that is read": misspelt_topic_read,
    "an invalid topic name": invalid_topic_name,
    "a partition that does not exist": missing_partition_written,
    "a value that is not bytes": value_of_a_wrong_type,
    "a key that is not bytes": key_of_a_wrong_type,
    "a record above the limit": record_above_the_limit,
    "no key on a compacted topic": no_key_on_a_compacted_topic,
    "send after close": sent_after_close,
    "poll after close": polled_after_close,
    "poll without a subscription": polled_without_subscription,
    "commit without a group": committed_without_group,
    "subscribe and assign": subscribed_and_assigned,
    "seek to a negative offset": seek_to_negative_offset,
    "no offset and no reset": no_offset_and_no_reset,
    "a value that cannot be decoded": undecodable_value,
    "two threads poll one consumer": two_threads_poll,
    "a client used after fork": used_after_fork,
    "a naive datetime": naive_datetime,
    "a column that does not exist": missing_column,
    "no right to write the topic": topic_not_allowed,
    "no right to join the group": group_not_allowed,
    "a topic that exists already": topic_that_exists,
}
