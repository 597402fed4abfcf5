"""The records of dead letters that only name them: a broker's, unless it copies records (KIP-1191).

Invariant: a letter without its record is never written as if it were an empty record.
"""

from __future__ import annotations

import dataclasses

from ottla import Client
from ottla.cli.dead_letters.letters import Letter
from ottla.errors import ConfigError


def with_record(client: Client, letter: Letter) -> Letter:
    """Return the letter with key, value, headers and time of the record that it names.

    Args:
        client: reads the record.
        letter: the letter; one that has its record is returned as it is.

    Raises:
        ConfigError: the record is gone, or no header says where it was.
        KafkaError: it could not be read.
    """
    if not letter.is_reference:
        return letter
    topic, partition, offset = letter.origin, letter.origin_partition, letter.origin_offset
    if topic is None or partition is None or offset is None:
        raise ConfigError("neither the record nor where it was is in the letter")
    columns = ["key", "value", "timestamp", "headers"]
    place = f"{topic}-{partition} at offset {offset}"
    with client.scan([(topic, partition, offset, offset + 1)], columns=columns) as scan:
        for batch in scan:
            for key, value, timestamp, headers in batch.rows():
                return dataclasses.replace(
                    letter,
                    key=key,
                    value=value,
                    headers=list(headers or ()),
                    origin_timestamp=timestamp,
                )
    raise ConfigError(
        f"the letter does not have its record, which is gone from {place}: let the brokers copy "
        "records, with errors.deadletterqueue.copy.record.enable=true of the group"
    )
