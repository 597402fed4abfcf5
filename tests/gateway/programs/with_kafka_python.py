"""Writes and reads lines with kafka-python: write|read BOOTSTRAP TOPIC [GROUP COUNT]."""

import os
import sys

from kafka import KafkaConsumer, KafkaProducer


def login() -> dict[str, str]:
    """Return the settings of the login in the environment: its mechanism, user and password."""
    if "LOGIN" not in os.environ:
        return {}
    mechanism, user, password = os.environ["LOGIN"].split()
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }


def write(bootstrap: str, topic: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, **login())
    sent = []
    for line in sys.stdin.buffer.read().splitlines():
        key, _, value = line.partition(b"\t")
        sent.append(producer.send(topic, value, key))
    producer.flush()
    for each in sent:
        each.get(timeout=60)
    producer.close()


def read(bootstrap: str, topic: str, group: str, count: str) -> None:
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        **login(),
    )
    for _ in range(int(count)):
        record = next(consumer)
        sys.stdout.buffer.write(b"%s\t%s\n" % (record.key, record.value))
    consumer.commit()
    consumer.close()


command, *arguments = sys.argv[1:]
if command == "write":
    write(*arguments)
else:
    read(*arguments)
