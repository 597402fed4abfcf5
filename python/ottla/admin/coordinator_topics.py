"""The internal topics of coordinators, whose partitions decide which groups and ids can be listed.

A broker lists what the partitions that it leads hold. Invariant: a list does not look complete
while a partition has no leader, since no broker lists its groups or ids then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ottla._core import error_of_code
from ottla._internal.text import counted
from ottla.admin.destinations import metadata
from ottla.admin.operation_call import Body, Call
from ottla.admin.topics import PartitionDescription, partition_description
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError, TimeoutError  # noqa: A004

GROUPS = "__consumer_offsets"
TRANSACTIONS = "__transaction_state"

# An election takes less than the pauses between these looks, which are about half a second.
_LOOKS = 3


async def errors_of(call: Call, topic: str, known: Sequence[KafkaError] = ()) -> list[KafkaError]:
    """Return the error of a coordinator topic's partitions without leader, if there are any.

    A topic that does not exist holds nothing, and one that the principal may not describe cannot be
    checked: both have no error.

    Args:
        call: the call.
        topic: the coordinator topic.
        known: the errors of brokers that did not respond. If waiting for them took all the time,
            the list is known to be incomplete, and the topic is not checked.

    Raises:
        KafkaError: the topic could not be checked, and there are no known errors.
    """
    errors: list[KafkaError] = []
    for look in range(_LOOKS):
        try:
            [found] = (await metadata(call, [topic]))["topics"]
        except TimeoutError:
            if known:
                break
            raise
        errors = _errors_in(found)
        if not errors or look == _LOOKS - 1:
            break
        try:
            await call.pause(errors[0])
        except TimeoutError:
            break
    return errors


async def errors_by_name(call: Call, topic: str, names: Iterable[str]) -> dict[str, KafkaError]:
    """Return the errors of the groups or ids whose partition has no leader now.

    They are final: no coordinator can be found before an operator starts brokers.

    Args:
        call: the call.
        topic: the coordinator topic.
        names: groups or transactional ids.
    """
    [found] = (await metadata(call, [topic]))["topics"]
    return leader_errors(topic, list(map(partition_description, found["partitions"])), names)


def leader_errors(
    topic: str, partitions: Sequence[PartitionDescription], names: Iterable[str]
) -> dict[str, KafkaError]:
    """Return the errors of the groups or ids whose partition has no leader."""
    leaderless = {each.partition: each for each in partitions if each.leader is None}
    errors = {}
    for name in names if leaderless else ():
        number = partition_of(name, len(partitions))
        if number in leaderless:
            brokers = ", ".join(map(str, sorted(leaderless[number].replicas)))
            errors[name] = error = error_of_code(
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                f"{name} has no coordinator, since {topic}-{number} has no leader: start a broker "
                f"with its replicas, {brokers}",
                topic=topic,
                partition=number,
            )
            error.retriable = False
    return errors


def partition_of(name: str, partitions: int) -> int:
    """Return the partition of a group or transactional id: Java's hash of the text."""
    units = name.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return (value & 0x7FFFFFFF) % partitions


def _errors_in(topic: Body) -> list[KafkaError]:
    partitions = topic["partitions"]
    without = [each for each in partitions if each["leader_id"] < 0]
    if not without:
        return []
    what = "groups" if topic["name"] == GROUPS else "transactional ids"
    brokers = sorted({broker for each in without for broker in each["replica_nodes"]})
    partition = without[0]["partition_index"]
    return [
        error_of_code(
            ErrorCode.LEADER_NOT_AVAILABLE,
            f"{len(without)} of {counted(len(partitions), 'partition')} of {topic['name']} "
            f"{'has' if len(without) == 1 else 'have'} no leader, so their {what} are not listed: "
            f"start the brokers with their replicas, {', '.join(map(str, brokers))}",
            topic=topic["name"],
            partition=partition,
        )
    ]
