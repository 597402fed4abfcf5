# Made by tools/twins.py from ../blocking/offsets.py: change that file.
"""Calls about the offsets of partitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

from ottla._core import OffsetAndTimestamp
from ottla._internal import arguments
from ottla.admin import offsets
from ottla.admin.destinations import TopicPartition
from ottla.admin.items import ItemErrors, settled
from ottla.admin.offsets import IsolationLevel, OffsetSpec
from ottla.admin.operation_runners import AsynchronousCalls
from ottla.errors import KafkaError


class AsyncOffsetCalls(AsynchronousCalls):
    """Looks up offsets."""

    @overload
    async def list_offsets(
        self,
        specs: Mapping[TopicPartition, OffsetSpec],
        *,
        isolation_level: IsolationLevel | None = None,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp]: ...
    @overload
    async def list_offsets(
        self,
        specs: Mapping[TopicPartition, OffsetSpec],
        *,
        isolation_level: IsolationLevel | None = None,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp | KafkaError]: ...
    async def list_offsets(
        self,
        specs: Mapping[TopicPartition, OffsetSpec],
        *,
        isolation_level: IsolationLevel | None = None,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Look up offsets of partitions, as ``Client.list_offsets``.

        Args:
            specs: by ``(topic, partition)``, which offset: ``"earliest"``, ``"latest"``,
                ``"max_timestamp"`` (KIP-734), ``"earliest_local"`` or ``"latest_tiered"`` (tiered
                storage), ``"earliest_pending_upload"`` (KIP-1023), or a time: the first record with
                this time or a later one, as an aware ``datetime`` or in ms since 1970.
            isolation_level: ``read_uncommitted`` or ``read_committed``. With ``read_committed``,
                ``"latest"`` is the last stable offset: the end, or the first record of an open
                transaction. Default: the client's ``isolation.level``.
            errors: what to do with the error of one partition: ``"raise"`` the first one, or
                ``"return"`` each in place of the offset.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The offsets by ``(topic, partition)``; an offset of None means that no record matches.

        Raises:
            AuthorizationError: the principal may not describe a topic.
            BrokerError: a broker does not support the name of an offset.
            ConfigError: a specification or the isolation level is invalid.
            TimeoutError: a leader did not respond in time.
            UnknownTopicError: a topic or a partition does not exist.
        """
        specs = arguments.by_partition("specs", specs, '"latest"')
        return await self._run(
            "listing offsets",
            timeout,
            settled(
                errors,
                lambda call: offsets.list_offsets(call, specs, isolation_level=isolation_level),
            ),
        )
