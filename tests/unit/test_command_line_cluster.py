"""The tables of ``ottla quorum``, ``features`` and ``tokens``, for clusters of any kind."""

from __future__ import annotations

import time

import pytest

from ottla._internal.style import Style
from ottla.admin import (
    DelegationToken,
    FeaturesDescription,
    QuorumDescription,
    QuorumReplica,
    SupportedVersionRange,
)
from ottla.admin.tables import Table
from ottla.cli import features, quorum, tokens
from ottla.cli.output import plain
from ottla.cli.tables import as_text

PLAIN = Style(color=False)


def replica(node: int, lag: int | None, ms: int | None) -> QuorumReplica:
    end = None if lag is None else 100 - lag
    return QuorumReplica(node, None, end, lag, ms, ms)


def described(
    voters: list[QuorumReplica], observers: list[QuorumReplica], leader: int = 1
) -> QuorumDescription:
    return QuorumDescription(
        leader, 7, 90, Table(QuorumReplica, voters), Table(QuorumReplica, observers), {}
    )


def quorum_text(found: QuorumDescription) -> str:
    return as_text([quorum._replica_table(found), quorum._endpoint_table(found)], PLAIN)


def test_times_are_compared_with_the_leaders_clock() -> None:
    # It is years behind this machine's.
    now = 1_000_000_000_000
    voters = [replica(1, 0, now), replica(2, 4, now - 3_000), replica(3, 100, now - 7_200_000)]
    text = quorum_text(described(voters, [replica(9, 1, now + 500)]))
    assert text.splitlines() == [
        "leader 1, epoch 7, high watermark 90",
        "node  role      directory  end  lag  behind     last fetch",
        "   1  leader               100    0  0 s        0 s",
        "   2  voter                 96    4  3 s        3 s",
        "   3  voter                  0  100  2 h 0 min  2 h 0 min",
        "   9  observer              99    1  0 s        0 s",
        "3 voters, of which 2 must be alive; 1 observer",
    ]


def test_brokers_may_not_report_all() -> None:
    """Before Kafka 3.4, there are no times; a replica that never fetched has no end."""
    text = quorum_text(described([replica(1, 0, None), replica(2, None, None)], []))
    assert text.splitlines()[2:] == [
        "   1  leader             100    0",
        "   2  voter",
        "2 voters, of which 2 must be alive",
    ]


def test_the_leader_may_have_left_the_voters() -> None:
    text = quorum_text(described([replica(2, 4, int(time.time() * 1000) - 90_000)], [], leader=1))
    row = text.splitlines()[2].split()
    assert row[:4] == ["2", "voter", "96", "4"]
    assert 89 <= int(row[4]) <= 119


FEATURE = "transaction.version"


@pytest.mark.parametrize(
    ("finalized", "supported", "lines"),
    [
        pytest.param(
            {FEATURE: 2},
            {1: {FEATURE: (0, 2)}, 2: {FEATURE: (0, 3)}, 3: {FEATURE: (0, 2)}},
            [
                "feature              level  supported  by brokers",
                "transaction.version      2  0 to 2            1,3",
                "transaction.version      2  0 to 3              2",
                "1 feature, epoch 5",
            ],
            id="brokers of two releases",
        ),
        pytest.param(
            {"old": 1},
            {1: {"new": (1, 1)}, 2: {"new": (1, 1)}},
            [
                "feature  level  supported  by brokers",
                "new          0  1 to 1     all",
                "old          1  none       all",
                "2 features, epoch 5",
            ],
            id="off and unknown",
        ),
        pytest.param({}, {1: {}}, ["0 features, epoch 5"], id="before features"),
    ],
)
def test_features_that_brokers_support_differently(
    finalized: dict[str, int],
    supported: dict[int, dict[str, tuple[int, int]]],
    lines: list[str],
) -> None:
    ranges = {
        broker: {name: SupportedVersionRange(*levels) for name, levels in found.items()}
        for broker, found in supported.items()
    }
    table = features._table(FeaturesDescription(finalized, 5, ranges))
    assert as_text([table], PLAIN).splitlines() == lines


def test_a_list_of_tokens_has_no_secrets() -> None:
    now = int(time.time() * 1000)
    renewers = ["User:bob", "User:carol"]
    valid = DelegationToken(
        "first", "User:alice", None, renewers, now, now + 7_230_000, now + 90_030_000, b"hunter2"
    )
    expired = DelegationToken("second", "User:a", None, [], 0, now - 1, now - 1, b"hunter2")
    text = as_text([tokens._table([valid, expired])], PLAIN)
    assert text.splitlines() == [
        "token   owner       renewers             expires in  at most",
        "first   User:alice  User:bob,User:carol  2 h 0 min   1 d 1 h",
        "second  User:a                           expired     expired",
        "2 tokens",
    ]
    for token in (valid, expired):
        listed = plain(tokens.Token(**tokens._fields(token)))
        assert set(listed) == set(vars(token)) - {"hmac"}
        created = tokens.CreatedToken(**tokens._fields(token), hmac=token.password)
        assert "hunter2" not in f"{listed} {created!r}"
