"""Writes and reads lines with confluent-kafka: write|read BOOTSTRAP TOPIC [GROUP COUNT]."""

import os
import sys

from confluent_kafka import Consumer, Producer


def login() -> dict[str, str]:
    """Return the settings of the login in the environment: its mechanism, user and password."""
    if "LOGIN" not in os.environ:
        return {}
    mechanism, user, password = os.environ["LOGIN"].split()
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }


def write(bootstrap: str, topic: str) -> None:
    failed = []
    producer = Producer({"bootstrap.servers": bootstrap, **login()})
    for line in sys.stdin.buffer.read().splitlines():
        key, _, value = line.partition(b"\t")
        producer.produce(topic, value, key, on_delivery=lambda error, _: failed.append(error))
    assert producer.flush(60) == 0
    assert not any(failed), failed


def read(bootstrap: str, topic: str, group: str, count: str) -> None:
    config = {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer({**config, **login()})
    consumer.subscribe([topic])
    found = 0
    while found < int(count):
        for message in consumer.consume(int(count), 0.2):
            assert message.error() is None, message.error()
            sys.stdout.buffer.write(b"%s\t%s\n" % (message.key(), message.value()))
            found += 1
    consumer.commit(asynchronous=False)
    consumer.close()


command, *arguments = sys.argv[1:]
if command == "write":
    write(*arguments)
else:
    read(*arguments)
