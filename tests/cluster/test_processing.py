"""``ottla.processing`` with transactions on Kafka: what failed attempts sent is never visible."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

import ottla
from tests.cluster.conftest import Brokers
from tests.support.processing import PROCESSORS, run_until, written

RECORDS = 12


@pytest.mark.parametrize("kind", PROCESSORS)
def test_each_record_has_its_effect_once_whatever_failed(brokers: Brokers, kind: str) -> None:
    """Every fourth record fails twice, and one always; another run finds nothing to do."""
    source, out = brokers.create_topic(2), brokers.create_topic(1)
    with ottla.Producer(brokers.bootstrap) as producer:
        producer.send_batch(
            source,
            [b"%d" % i for i in range(RECORDS)],
            partitions=[i % 2 for i in range(RECORDS)],
        )

    def handle(record: Any) -> None:
        number = int(record.value)
        processor.producer.send(out, record.value)
        if number == 3 or (number % 4 == 0 and processor.attempt < 3):
            raise ValueError(number)

    group = f"group-{uuid.uuid4().hex[:12]}"
    options: dict[str, Any] = {
        "group_id": group,
        "transactional_id": group,
        "retry_delays": [0.1, 0.2],
        "exactly_once": True,
        "create_topics": True,
    }
    processor = PROCESSORS[kind](handle, source, brokers.bootstrap, **options)
    attempts = RECORDS + 2 * (RECORDS // 4) + 2
    run_until(processor, lambda: processor.metrics()["record-attempt-total"] >= attempts)
    level = {"isolation_level": "read_committed"}
    results = sorted(int(each.value or b"") for each in written(brokers.bootstrap, out, **level))
    assert results == [each for each in range(RECORDS) if each != 3]
    (letter,) = written(brokers.bootstrap, f"{source}.dead-letters", **level)
    assert letter.value == b"3"
    assert dict(letter.headers)["__ottla.errors.attempts"] == b"3"
    waited = [
        written(brokers.bootstrap, f"{source}.retry.{each}", **level) for each in ("100ms", "200ms")
    ]
    assert [len(each) for each in waited] == [RECORDS // 4 + 1] * 2
