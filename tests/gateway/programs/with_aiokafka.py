"""Writes and reads lines with aiokafka: write|read BOOTSTRAP TOPIC [GROUP COUNT]."""

import asyncio
import os
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer


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


async def write(bootstrap: str, topic: str) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, **login()) as producer:
        sent = []
        for line in sys.stdin.buffer.read().splitlines():
            key, _, value = line.partition(b"\t")
            sent.append(await producer.send(topic, value, key))
        await asyncio.gather(*sent)


async def read(bootstrap: str, topic: str, group: str, count: str) -> None:
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        **login(),
    )
    async with consumer:
        for _ in range(int(count)):
            record = await consumer.getone()
            sys.stdout.buffer.write(b"%s\t%s\n" % (record.key, record.value))
        await consumer.commit()


command, *arguments = sys.argv[1:]
asyncio.run(write(*arguments) if command == "write" else read(*arguments))
