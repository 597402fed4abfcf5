"""The KRaft quorum: its leader, voters and observers (KIP-595), and changes of voters (KIP-853).

Invariant: a change names a voter by id and directory, so that it means one disk and no other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ottla._core import error_of_code
from ottla._internal.arguments import integer, text
from ottla._internal.required_arguments import instances
from ottla.admin.destinations import CONTROLLER_TIMEOUT_MS, ask_controller, to_controller
from ottla.admin.items import Results, error_of, known, left_out
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.admin.plan import Plan, PlannedChange
from ottla.admin.tables import Table
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError

_TOPIC = "__cluster_metadata"
_NO_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"
_ADD, _REMOVE = "AddRaftVoter", "RemoveRaftVoter"


@dataclass(frozen=True)
class RaftVoterEndpoint:
    """The address of a voter for the other voters.

    Attributes:
        listener: the name of the listener, such as ``CONTROLLER``.
        host: the host.
        port: the port.
    """

    listener: str
    host: str
    port: int


@dataclass(frozen=True)
class QuorumReplica:
    """A replica of the metadata log.

    Attributes:
        replica_id: the id of its node (``node.id``).
        directory_id: the id of its log directory (KIP-853); None if the quorum is static or the
            brokers do not report it (before Kafka 3.9).
        log_end_offset: the offset after its last record; None if the leader does not know it.
        lag: the number of records that the leader has and it lacks; None if unknown.
        last_fetch_ms: when the leader got its last fetch, in ms since 1970; None if unknown or
            the brokers do not report it (before Kafka 3.4).
        last_caught_up_ms: when it last had all records, in the same way.
    """

    replica_id: int
    directory_id: str | None
    log_end_offset: int | None
    lag: int | None
    last_fetch_ms: int | None
    last_caught_up_ms: int | None


@dataclass(frozen=True)
class QuorumDescription:
    """The KRaft quorum.

    Attributes:
        leader_id: the id of the active controller.
        leader_epoch: its epoch, which grows with each election.
        high_watermark: the offset after the last record that a majority of voters has.
        voters: the replicas that elect the leader, in the order of their ids.
        observers: the replicas that only follow, such as brokers, in the same order.
        endpoints: the addresses of the voters, by id; empty before Kafka 3.9.
    """

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: Table[QuorumReplica]
    observers: Table[QuorumReplica]
    endpoints: dict[int, list[RaftVoterEndpoint]]


def _replicas(bodies: list[Body], end: int | None) -> Table[QuorumReplica]:
    rows = []
    for body in bodies:
        directory = body.get("replica_directory_id", _NO_DIRECTORY)
        own_end = known(body["log_end_offset"])
        rows.append(
            QuorumReplica(
                body["replica_id"],
                None if directory == _NO_DIRECTORY else directory,
                own_end,
                None if end is None or own_end is None else max(0, end - own_end),
                known(body.get("last_fetch_timestamp", -1)),
                known(body.get("last_caught_up_timestamp", -1)),
            )
        )
    return Table(QuorumReplica, sorted(rows, key=lambda each: each.replica_id))


def _description(body: Body) -> QuorumDescription | KafkaError:
    if error := error_of(body, api="DescribeQuorum"):
        return error
    partitions = (
        partition
        for topic in body["topics"]
        if topic["topic_name"] == _TOPIC
        for partition in topic["partitions"]
        if partition["partition_index"] == 0
    )
    found = next(partitions, None)
    if found is None:
        return left_out()
    if error := error_of(found, api="DescribeQuorum"):
        return error
    voters = found["current_voters"]
    ends = [each["log_end_offset"] for each in voters if each["replica_id"] == found["leader_id"]]
    end = known(ends[0]) if ends else None
    endpoints = {
        node["node_id"]: [
            RaftVoterEndpoint(each["name"], each["host"], each["port"])
            for each in node["listeners"]
        ]
        for node in body.get("nodes", ())
    }
    return QuorumDescription(
        found["leader_id"],
        found["leader_epoch"],
        found["high_watermark"],
        _replicas(voters, end),
        _replicas(found["observers"], end),
        endpoints,
    )


def checked_endpoints(endpoints: Iterable[RaftVoterEndpoint]) -> list[RaftVoterEndpoint]:
    """Return the argument ``endpoints``, with ports that are plain integers.

    Raises:
        ArgumentTypeError: it is no list, an item is no ``RaftVoterEndpoint``, or a field of one has
            another type.
    """
    example = 'RaftVoterEndpoint("CONTROLLER", "host", 9093)'
    checked = []
    for index, each in enumerate(instances("endpoints", endpoints, RaftVoterEndpoint, example)):
        name = f"endpoints[{index}]"
        listener = text(f"{name}.listener", each.listener)
        host = text(f"{name}.host", each.host)
        port = integer(f"{name}.port", each.port, "a port, such as 9093")
        checked.append(RaftVoterEndpoint(listener, host, port))
    return checked


async def describe_metadata_quorum(call: Call) -> QuorumDescription:
    """Describe the quorum."""
    topics = [{"topic_name": _TOPIC, "partitions": [{"partition_index": 0}]}]

    def build(_: list[None]) -> Request:
        return Request("DescribeQuorum", {"topics": topics})

    def read(response: Response, _: list[None]) -> Results[None, QuorumDescription]:
        return {None: _description(response.body)}

    result = (await to_controller(call, [None], build, read, changes=False))[None]
    if isinstance(result, KafkaError):
        raise result
    return result


async def add_raft_voter(
    call: Call,
    voter_id: int,
    directory_id: str,
    endpoints: Iterable[RaftVoterEndpoint],
    *,
    cluster_id: str | None,
) -> None:
    """Add a voter."""
    listeners = [
        {"name": each.listener, "host": each.host, "port": each.port} for each in endpoints
    ]
    body = {
        "cluster_id": cluster_id,
        "timeout_ms": CONTROLLER_TIMEOUT_MS,
        "voter_id": voter_id,
        "voter_directory_id": directory_id,
        "listeners": listeners,
    }
    await ask_controller(call, Request(_ADD, body))


async def remove_raft_voter(
    call: Call, voter_id: int, directory_id: str, *, cluster_id: str | None
) -> None:
    """Remove a voter."""
    body = {"cluster_id": cluster_id, "voter_id": voter_id, "voter_directory_id": directory_id}
    await ask_controller(call, Request(_REMOVE, body))


async def plan_voter(call: Call, voter_id: int, directory_id: str, *, added: bool) -> Plan:
    """Return the voters before and after, and how many must be alive."""
    voter = {"voter_id": voter_id, "voter_directory_id": directory_id}
    await call.check(Request(_ADD if added else _REMOVE, voter, "controller"))
    voters = [
        (each.replica_id, each.directory_id)
        for each in (await describe_metadata_quorum(call)).voters
    ]
    before = [voter for voter, _ in voters]
    name = f"voter {voter_id} with directory {directory_id}"
    if added:
        if voter_id in before:
            raise error_of_code(ErrorCode.DUPLICATE_VOTER, name)
        after = sorted([*before, voter_id])
    else:
        if (voter_id, directory_id) not in voters:
            raise error_of_code(ErrorCode.VOTER_NOT_FOUND, name)
        after = [each for each in before if each != voter_id]
    detail = f"{len(after) // 2 + 1} of {len(after)} must be alive"
    shown = [", ".join(map(str, each)) for each in (before, after)]
    return Plan([PlannedChange("add" if added else "remove", name, detail, *shown)])
