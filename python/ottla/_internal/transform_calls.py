"""``transform``: consume, process and produce, each input record having its effect exactly once.

Invariant: consumer and producer are created for the call and closed with it; the steps are in
``transformation``.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ottla._core import AsyncProducer, Consumer, Producer
from ottla._internal.arguments import text
from ottla._internal.async_consumer import AsyncConsumer
from ottla._internal.group_settings import (
    check_read_committed,
    commit_timeout,
    group_settings,
    transaction_id,
)
from ottla._internal.required_arguments import flag, topics_to_read
from ottla._internal.steps import await_all, call_all
from ottla._internal.transform_steps import FUNCTION, StopFlag, Transformation, TransformSummary
from ottla.errors import ArgumentTypeError, ConfigError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ottla._core.aliases import DeserializerLike, SerializerLike
    from ottla.config_types import ClientConfig

__all__ = ["transform", "transform_async"]


def _configs(
    config: Mapping[str, Any] | None, keywords: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the configurations of the consumer and of the producer."""
    settings = group_settings(config, keywords, "offsets are committed with the transactions")
    check_read_committed(settings, "transform")
    name = transaction_id(settings)
    defaults = {"auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    consumer = {**defaults, **settings, "enable.auto.commit": False}
    return consumer, {**settings, "transactional.id": name}


def _check(
    function: Callable[..., Any],
    topics: str | Sequence[str],
    output: str,
    stop: object,
    arrow: bool,
    *,
    awaits: bool,
) -> list[str]:
    """Check the arguments of both calls; return the topics to read.

    Raises:
        ConfigError: an argument is of another type, or there is no topic.
    """
    FUNCTION.check(function, awaits=awaits)
    text("output", output)
    flag("arrow", arrow)
    if stop is not None and not callable(getattr(stop, "is_set", None)):
        kind = type(stop).__name__
        raise ArgumentTypeError(f"stop is of type {kind}: expected a flag, such as an Event")
    return topics_to_read(topics)


def _conversions(arrow: bool, *given: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return what was given; raise if Arrow batches would not be converted."""
    chosen = tuple(
        {name: value for name, value in each.items() if value is not None} for each in given
    )
    if arrow and (names := ", ".join(name for each in chosen for name in each)):
        raise ConfigError(
            f"{names}: Arrow columns have bytes and are not converted; convert them in the "
            "function, or use arrow=False"
        )
    return chosen


def transform(
    function: Callable[[Any], Any],
    topics: str | Sequence[str],
    output: str,
    bootstrap: str | Sequence[str] | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    arrow: bool = False,
    max_records: int | None = None,
    stop: StopFlag | None = None,
    key_deserializer: DeserializerLike[Any] | None = None,
    value_deserializer: DeserializerLike[Any] | None = None,
    key_serializer: SerializerLike | None = None,
    value_serializer: SerializerLike | None = None,
    **kwargs: Unpack[ClientConfig],
) -> TransformSummary:
    """Apply a function to the records of topics, and write what it returns, exactly once.

    The call runs until ``stop`` is set, or until an exception. Each poll is one transaction, which
    commits the consumer's offsets too. Run it in as many processes as there are partitions: the
    group shares them out, and a process that takes over a partition continues after the last
    transaction that was committed.

    Args:
        function: called with each record; returns None, a value, a ``(key, value)``, a dict of
            arguments of ``Producer.send``, or a list of these. With ``arrow``, called with each
            batch; returns Arrow data as ``Producer.send_batch`` accepts, or None. It may be called
            again for the same records after a transaction that failed.
        topics: the topic or topics to read.
        output: the topic to write.
        bootstrap: addresses as ``host:port``.
        config: configuration of the consumer and the producer by Kafka's dotted names. Keyword
            arguments are the same names with underscores. ``group.id`` is required. Set
            ``transactional.id`` to a name that no other running process has and that stays the
            same after a restart: a restart then ends at once what the process left open, which
            otherwise takes ``transaction.timeout.ms``; without it, the name is new each time.
            ``isolation.level`` is ``read_committed``, and cannot be another one;
            ``auto.offset.reset`` is ``earliest`` unless it is set. The outcome of a transaction is
            awaited for ``delivery.timeout.ms``.
        arrow: whether the function is called with Arrow batches.
        max_records: the maximum number of records, or rows, of a transaction. Default: as for
            ``Consumer.poll`` and ``Consumer.poll_arrow``.
        stop: a flag that ends the call, such as a ``threading.Event``; it is checked twice a
            second. Default: none.
        key_deserializer: converts the keys that the function is given, as for ``Consumer``.
        value_deserializer: the same for values.
        key_serializer: converts the keys that the function returns, as for ``Producer``.
        value_serializer: the same for values. All four are for records, not for Arrow batches.

    Returns:
        The numbers of records and transactions.

    Raises:
        Exception: the exception of the function; the transaction was aborted.
        ArgumentTypeError: an argument is of another type.
        ConfigError: a key or a value is invalid, there is no topic, or ``arrow`` has serializers or
            deserializers.
        SerializationError: a serializer or deserializer failed; nothing of that poll is committed.
        FencedError: another producer has the same ``transactional.id``, or a transaction took
            longer than ``transaction.timeout.ms``.
        TimeoutError: the outcome of a transaction is unknown after ``delivery.timeout.ms``; another
            call continues where it ended.
        TransactionAbortableError: a transaction has failed ten times in a row.
    """
    read = _check(function, topics, output, stop, arrow, awaits=False)
    of_consumer, of_producer = _configs(config, kwargs)
    deserializers, serializers = _conversions(
        arrow,
        {"key_deserializer": key_deserializer, "value_deserializer": value_deserializer},
        {"key_serializer": key_serializer, "value_serializer": value_serializer},
    )
    with (
        Producer(bootstrap, of_producer, **serializers) as producer,
        Consumer(bootstrap, of_consumer, **deserializers) as consumer,
    ):
        transformation = Transformation(
            consumer,
            producer,
            function,
            output,
            threading.Event() if stop is None else stop,
            arrow=arrow,
            max_records=max_records,
            commit_timeout=commit_timeout(of_producer),
            sleep=time.sleep,
        )
        consumer.subscribe(
            read,
            on_assigned=lambda _, added: call_all(transformation.commit_starts(added)),
        )
        summary: TransformSummary = call_all(transformation.run())
        return summary


async def transform_async(
    function: Callable[[Any], Awaitable[Any] | Any],
    topics: str | Sequence[str],
    output: str,
    bootstrap: str | Sequence[str] | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    arrow: bool = False,
    max_records: int | None = None,
    stop: StopFlag | None = None,
    key_deserializer: DeserializerLike[Any] | None = None,
    value_deserializer: DeserializerLike[Any] | None = None,
    key_serializer: SerializerLike | None = None,
    value_serializer: SerializerLike | None = None,
    **kwargs: Unpack[ClientConfig],
) -> TransformSummary:
    """Apply a function to the records of topics, for asyncio; it mirrors ``transform``.

    Args:
        function: as for ``transform``, or a coroutine function.
        topics: as for ``transform``.
        output: as for ``transform``.
        bootstrap: as for ``transform``.
        config: as for ``transform``.
        arrow: as for ``transform``.
        max_records: as for ``transform``.
        stop: a flag that ends the call, such as an ``asyncio.Event``. Cancelling the task aborts
            the transaction and ends it too. Default: none.
        key_deserializer: as for ``transform``.
        value_deserializer: as for ``transform``.
        key_serializer: as for ``transform``.
        value_serializer: as for ``transform``.

    Returns:
        The numbers of records and transactions.

    Raises:
        KafkaError: as for ``transform``.
    """
    read = _check(function, topics, output, stop, arrow, awaits=True)
    of_consumer, of_producer = _configs(config, kwargs)
    deserializers, serializers = _conversions(
        arrow,
        {"key_deserializer": key_deserializer, "value_deserializer": value_deserializer},
        {"key_serializer": key_serializer, "value_serializer": value_serializer},
    )
    async with (
        AsyncProducer(bootstrap, of_producer, **serializers) as producer,
        AsyncConsumer(bootstrap, of_consumer, **deserializers) as consumer,
    ):
        transformation = Transformation(
            consumer,
            producer,
            function,
            output,
            asyncio.Event() if stop is None else stop,
            arrow=arrow,
            max_records=max_records,
            commit_timeout=commit_timeout(of_producer),
            sleep=asyncio.sleep,
        )

        async def assigned(_: Any, added: Sequence[tuple[str, int]]) -> None:
            await await_all(transformation.commit_starts(added))

        consumer.subscribe(read, on_assigned=assigned)
        summary: TransformSummary = await await_all(transformation.run())
        return summary
