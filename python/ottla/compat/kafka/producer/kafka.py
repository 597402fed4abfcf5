"""``KafkaProducer`` over ``ottla.Producer``.

Invariants: ``send`` either raises, and nothing is sent, or returns a future that completes exactly
once; a producer that is dropped, or whose process ends, has a second to send what it has buffered.
"""

from __future__ import annotations

import contextlib
import itertools
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

import ottla
from ottla import errors
from ottla.compat.kafka import _config, _defaults
from ottla.compat.kafka._converters import Converter, close_all, converter_of, serializer
from ottla.compat.kafka._errors import translated, translating
from ottla.compat.kafka._idempotence import resolve_idempotence
from ottla.compat.kafka._topic_names import check_topic_name
from ottla.compat.kafka._view import ClientView, find_cluster, grouped_metrics, open_client
from ottla.compat.kafka.errors import IllegalStateError, KafkaTimeoutError
from ottla.compat.kafka.producer._partitioning import partitioner_for
from ottla.compat.kafka.producer._transactions import Transactions
from ottla.compat.kafka.producer.future import FailedFuture, FutureRecordMetadata

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["KafkaProducer"]

_BYTES = (bytes, bytearray, memoryview, type(None))
_CODECS = (None, "gzip", "snappy", "lz4", "zstd")
_MAGIC = 2
_LAST_WORDS = 1.0
_numbers = itertools.count(1)


class KafkaProducer(Transactions):
    """A producer with the interface of kafka-python.

    Args:
        configs: the keyword arguments of kafka-python; see ``DEFAULT_CONFIG``.

    Raises:
        KafkaConfigurationError: an argument is unknown or invalid.
        NoBrokersAvailable: no server was found within ``bootstrap_timeout_ms``.
        ValueError: there is no such compression.
    """

    DEFAULT_CONFIG = _defaults.PRODUCER

    def __init__(self, **configs: Any) -> None:
        self._closed = True
        self.config = _defaults.merged(self.DEFAULT_CONFIG, configs)
        _config.check_api_timeout(self.config, configs)
        _config.warn_of_no_effect("KafkaProducer", self.config, self.DEFAULT_CONFIG)
        if self.config["compression_type"] not in _CODECS:
            raise ValueError(f"Not supported codec: {self.config['compression_type']}")
        for name in ("key_serializer", "value_serializer"):
            self.config[name] = serializer(name, self.config[name])
        self._key, self._value = (
            None if each is None else converter_of(each.serialize)
            for each in (self.config["key_serializer"], self.config["value_serializer"])
        )
        if self.config["client_id"] is None:
            self.config["client_id"] = f"kafka-python-producer-{next(_numbers)}"
        resolve_idempotence(self.config, configs)
        self._ottla = open_client(_config.producer(self.config, configs))
        self._client = ClientView(self._ottla)
        self._partitioner = partitioner_for(
            self.config["partitioner"], self._ottla, self._client.cluster
        )
        if self.config["api_version"] is None:
            find_cluster(self._ottla, self.config)
        self._producer = self._open()
        self._closed = False
        self._finalizer = weakref.finalize(self, _abandon, self._producer, self._ottla)

    def _open(self) -> ottla.Producer:
        options: dict[str, Any] = {}
        if self.config["transactional_id"]:
            options["transactional_id"] = self.config["transactional_id"]
            options["transaction_timeout_ms"] = _config.number(
                self.config["transaction_timeout_ms"]
            )
        if self._partitioner is not None:
            options["partitioner"] = self._partitioner
        with translating():
            return ottla.Producer(self._ottla, **options)

    def bootstrap_connected(self) -> bool:
        """Whether there is a connection to any broker."""
        return self._client.bootstrap_connected()

    def partitions_for(self, topic: str) -> set[int]:
        """Return a topic's partitions.

        Raises:
            KafkaTimeoutError: the topic does not exist, or no broker has responded in time.
        """
        check_topic_name(topic)
        with translating():
            try:
                found = self._ottla.partitions_for(topic, timeout=self._max_block())
            except errors.UnknownTopicError as error:
                raise KafkaTimeoutError(str(error)) from error
        return set(found)

    def _max_block(self) -> float:
        return _config.number(self.config["max_block_ms"]) / 1000

    @classmethod
    def max_usable_produce_magic(cls, api_version: tuple[int, ...]) -> int:
        """Return the format of records: 2, for every version."""
        return _MAGIC

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: list[tuple[str, bytes]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> FutureRecordMetadata | FailedFuture:
        """Add a record to its partition's batch.

        Args:
            topic: the topic.
            value: the value: bytes, None, or what the serializer takes.
            key: the key, of the same types.
            headers: pairs of a name and bytes.
            partition: the partition. Default: the partitioner chooses.
            timestamp_ms: milliseconds since 1970. Default: now.

        Returns:
            A future of the record's metadata.

        Raises:
            IllegalStateError: the producer is closed, or no transaction is open.
            KafkaTimeoutError: the topic or buffer memory was not available within
                ``max_block_ms``.
            MessageSizeTooLargeError: the record is larger than ``max_request_size``.
            TypeError: the key, the value or a header has a wrong type.
            ValueError: the topic's name or the partition is invalid, or there is neither a key nor
                a value.
        """
        if self._closed:
            raise IllegalStateError("KafkaProducer already closed!")
        if value is None and key is None:
            raise ValueError("Need at least one: key or value")
        headers = _checked_headers(headers)
        key_bytes = _bytes("key", self._key, topic, headers, key)
        value_bytes = _bytes("value", self._value, topic, headers, value)
        check_topic_name(topic)
        if partition is not None and partition < 0:
            raise ValueError("partition must be >= 0")
        if self._partitioner is not None:
            self._partitioner.sends(key, value)
        try:
            if not self.config["allow_auto_create_topics"]:
                self._require_topic(topic)
            delivery = self._producer.send(
                topic,
                value_bytes,
                key_bytes,
                headers=headers or None,
                timestamp=timestamp_ms,
                partition=partition,
            )
        except errors.AuthorizationError as error:
            return FailedFuture(translated(error))
        except errors.UnknownTopicError as error:
            if error.context.get("partition") is not None:
                message = f"Unrecognized partition {partition} for topic {topic}"
                raise ValueError(message) from error
            raise KafkaTimeoutError(str(error)) from error
        except errors.KafkaError as error:
            raise translated(error) from error
        return FutureRecordMetadata(delivery, key_bytes, value_bytes, headers)

    def _require_topic(self, topic: str) -> None:
        """Wait for a topic that sending would otherwise create."""
        if self._client.cluster.partitions_for_topic(topic) is None:
            self._ottla.partitions_for(topic, timeout=self._max_block())

    def flush(self, timeout: float | None = None) -> None:
        """Send all records, and wait until they are acknowledged or have failed.

        Args:
            timeout: seconds. Default: until all are.

        Raises:
            KafkaTimeoutError: records are still pending.
        """
        with translating():
            self._producer.flush(timeout=timeout)

    def metrics(self, raw: bool = False) -> dict[str, dict[str, float]] | None:
        """Return ottla's metrics by group and name; None with ``metrics_enabled=False``."""
        if not self.config["metrics_enabled"]:
            return None
        result = grouped_metrics("producer", cast("dict[str, float]", self._producer.metrics()))
        for topic, metrics in self._producer.topic_metrics().items():
            result[f"producer-topic-metrics.{topic}"] = dict(cast("dict[str, float]", metrics))
        return result

    def close(self, timeout: float | None = None, null_logger: bool = False) -> None:
        """Send all records, wait until they are acknowledged, and close the producer.

        Args:
            timeout: seconds. Default: until all are acknowledged or have failed.
            null_logger: has no effect.

        Raises:
            KafkaTimeoutError: records were not acknowledged in time, and have failed.
        """
        if self._closed:
            return
        if timeout is not None and timeout < 0:
            raise ValueError(f"Invalid timeout: {timeout}")
        self._closed = True
        self._finalizer.detach()
        if timeout is None:
            # Every record has completed by then.
            timeout = _config.number(self.config["delivery_timeout_ms"]) / 1000 + 5
        try:
            with translating():
                self._producer.close(timeout=timeout)
        finally:
            self._ottla.close()
            close_all((self.config["key_serializer"], self.config["value_serializer"]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __str__(self) -> str:
        return (
            f"<KafkaProducer client_id={self.config['client_id']} "
            f"transactional_id={self.config['transactional_id']}>"
        )


def _abandon(producer: ottla.Producer, client: ottla.Client) -> None:
    """End a producer that nobody has closed."""
    # Its own log says which records failed. In a process that was forked, both are closed.
    with contextlib.suppress(errors.KafkaError):
        producer.close(timeout=_LAST_WORDS)
    with contextlib.suppress(errors.KafkaError):
        client.close()


def _checked_headers(headers: Any) -> list[tuple[str, bytes]]:
    if headers is None:
        return []
    if not isinstance(headers, list):
        raise TypeError("headers must be list-type")
    for item in headers:
        if not (
            isinstance(item, tuple)
            and len(item) == 2
            and isinstance(item[0], str)
            and isinstance(item[1], bytes)
        ):
            raise TypeError("All headers items must be (str, bytes) tuples")
    return headers


def _bytes(
    field: str, serialize: Converter | None, topic: str, headers: Any, data: Any
) -> bytes | bytearray | memoryview | None:
    made = data if serialize is None else serialize(topic, headers, data)
    if not isinstance(made, _BYTES):
        raise TypeError(f"Unsupported type for serialized {field}: {type(made)}")
    return cast("bytes | bytearray | memoryview | None", made)
