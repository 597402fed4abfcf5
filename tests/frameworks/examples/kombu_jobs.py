"""kombu's Kafka transport, which uses confluent-kafka: a queue that is written, then read."""

import os

from kombu import Connection

with Connection(f"confluentkafka://{os.environ['KAFKA']}") as connection:
    queue = connection.SimpleQueue("jobs")
    for number in range(20):
        queue.put({"number": number})
    for _ in range(20):
        message = queue.get(timeout=60)
        print("job", message.payload["number"])
        message.ack()
    queue.close()
