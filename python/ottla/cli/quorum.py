"""``ottla quorum``: the KRaft quorum, and changes of its voters (KIP-595, KIP-853)."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Sequence

from ottla import Admin
from ottla._internal.text import counted, duration, join
from ottla.admin import QuorumDescription, QuorumReplica, RaftVoterEndpoint
from ottla.cli.resources import (
    Subcommands,
    add_resource,
    add_subcommand,
    admin,
    confirm,
    report,
    show,
    text,
)
from ottla.cli.tables import Table
from ottla.errors import ConfigError, KafkaError

_ENDPOINT = re.compile(r"(?P<listener>\w+)://(?P<host>\[[^\]]+\]|[^:/\[\]]+):(?P<port>\d{1,5})")


def add(commands: Subcommands) -> None:
    """Add the command and its subcommands."""
    description = "show the KRaft quorum, add and remove voters"
    add_resource(commands, "quorum", description, [_add_describe, _add_voter, _add_removal])


def _add_describe(subcommands: Subcommands) -> None:
    add_subcommand(
        subcommands,
        "describe",
        run_describe,
        "show the leader, and how far voters and observers are behind it",
        positional=True,
        has_json=True,
    )


def _add_voter(subcommands: Subcommands) -> None:
    parser = add_subcommand(
        subcommands,
        "add-voter",
        run_add,
        "add a controller to the voters of a dynamic quorum",
        details="Without --yes, it only shows the voters before and after.",
        confirmed=True,
    )
    _add_replica(parser, "the observer with this id")
    parser.add_argument(
        "--endpoint",
        action="append",
        required=True,
        metavar="LISTENER://HOST:PORT",
        help="its address for the other voters, such as CONTROLLER://kafka4:9093; may be repeated",
    )


def _add_removal(subcommands: Subcommands) -> None:
    parser = add_subcommand(
        subcommands,
        "remove-voter",
        run_remove,
        "remove a controller from the voters of a dynamic quorum",
        details="Without --yes, it only shows the voters before and after.",
        confirmed=True,
    )
    _add_replica(parser, "the voter with this id")


def _add_replica(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument("node", type=int, metavar="ID", help="the node.id of the controller")
    parser.add_argument(
        "--directory", metavar="ID", help=f"the id of its log directory ({default})"
    )


def run_describe(arguments: argparse.Namespace) -> int:
    """Show the quorum; return the exit code."""
    with admin(arguments) as client:
        quorum = client.describe_metadata_quorum()
    show(arguments, quorum, [_replica_table(quorum), _endpoint_table(quorum)])
    return 0


def _replica_table(quorum: QuorumDescription) -> Table:
    leaders = [each for each in quorum.voters if each.replica_id == quorum.leader_id]
    roles = [("leader" if each in leaders else "voter", each) for each in quorum.voters]
    rows = [
        [
            str(each.replica_id),
            role,
            text(each.directory_id),
            text(each.log_end_offset),
            text(each.lag),
            _behind(leaders, each, lambda replica: replica.last_caught_up_ms),
            _behind(leaders, each, lambda replica: replica.last_fetch_ms),
        ]
        for role, each in [*roles, *(("observer", each) for each in quorum.observers)]
    ]
    title = (
        f"leader {quorum.leader_id}, epoch {quorum.leader_epoch}, "
        f"high watermark {quorum.high_watermark}"
    )
    header = ["node", "role", "directory", "end", "lag", "behind", "last fetch"]
    voters = len(quorum.voters)
    line = f"{counted(voters, 'voter')}, of which {voters // 2 + 1} must be alive"
    if quorum.observers:
        line += f"; {counted(len(quorum.observers), 'observer')}"
    return Table(title, header, rows, [line])


def _behind(
    leaders: Sequence[QuorumReplica],
    replica: QuorumReplica,
    time_of: Callable[[QuorumReplica], int | None],
) -> str:
    """Return how much earlier a time of a replica is than the leader's.

    The leader reports its current time as its own, so this machine's clock does not matter.
    """
    at = time_of(replica)
    if at is None:
        return ""
    now = next((known for each in leaders if (known := time_of(each)) is not None), None)
    return duration(max(0.0, (time.time() * 1000 if now is None else now) - at) / 1000)


def _endpoint_table(quorum: QuorumDescription) -> Table:
    rows = [
        [str(voter), each.listener, join(each.host, each.port)]
        for voter, endpoints in sorted(quorum.endpoints.items())
        for each in endpoints
    ]
    return Table("", ["voter", "listener", "address"] if rows else [], rows)


def run_add(arguments: argparse.Namespace) -> int:
    """Add a voter; return the exit code."""
    endpoints = [_endpoint(each) for each in arguments.endpoint]
    node: int = arguments.node
    with admin(arguments) as client:
        directory = arguments.directory or _directory(client, node, is_voter=False)
        if not confirm(arguments, client.add_raft_voter(node, directory, endpoints, dry_run=True)):
            return 1
        return _report(
            lambda: client.add_raft_voter(node, directory, endpoints),
            "added voter",
            node,
            directory,
        )


def run_remove(arguments: argparse.Namespace) -> int:
    """Remove a voter; return the exit code."""
    node: int = arguments.node
    with admin(arguments) as client:
        directory = arguments.directory or _directory(client, node, is_voter=True)
        if not confirm(arguments, client.remove_raft_voter(node, directory, dry_run=True)):
            return 1
        return _report(
            lambda: client.remove_raft_voter(node, directory), "removed voter", node, directory
        )


def _endpoint(given: str) -> RaftVoterEndpoint:
    found = _ENDPOINT.fullmatch(given)
    if found is None or not 0 < int(found["port"]) < 65536:
        raise ConfigError(
            f"--endpoint {given!r}: expected LISTENER://HOST:PORT, such as CONTROLLER://kafka4:9093"
        )
    return RaftVoterEndpoint(found["listener"], found["host"].strip("[]"), int(found["port"]))


def _directory(client: Admin, node: int, *, is_voter: bool) -> str:
    quorum = client.describe_metadata_quorum()
    replicas = quorum.voters if is_voter else quorum.observers
    kind = "voter" if is_voter else "observer"
    found = [each for each in replicas if each.replica_id == node]
    if not found:
        known = ", ".join(str(each.replica_id) for each in replicas) or "none"
        raise ConfigError(f"the quorum has no {kind} {node}; its {kind}s are: {known}")
    directories = [each.directory_id for each in found if each.directory_id is not None]
    if not directories:
        raise ConfigError(
            f"{kind} {node} has no directory id: the quorum is static, and its voters change only "
            "with controller.quorum.voters"
        )
    if len(directories) > 1:
        listed = ", ".join(directories)
        raise ConfigError(f"{kind} {node} has several directories, {listed}: give --directory")
    return directories[0]


def _report(change: Callable[[], None], done: str, node: int, directory: str) -> int:
    try:
        change()
    except KafkaError as error:
        return report({node: error}, done, noun="replica_id")
    return report({node: None}, done, of=f" with directory {directory}", noun="replica_id")
