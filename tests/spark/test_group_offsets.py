"""Offsets of a stream committed to a group: which, and when they are committed again."""

from __future__ import annotations

import pytest

import ottla
from ottla import errors
from ottla.errors import FencedError
from ottla.spark.planning.group_offsets import GroupOffsetCommitter
from tests.spark.fake_client import FakeClient

A, B, C = ("t", 0), ("t", 1), ("t", 2)


class Group:
    """Records the committed offsets, or raises the given failures, one per call."""

    def __init__(self, *failures: Exception) -> None:
        self.commits: list[dict[tuple[str, int], int]] = []
        self.failures = list(failures)

    def admin(self, client: object) -> Group:
        return self

    def alter_group_offsets(
        self, group: str, offsets: dict[tuple[str, int], int], timeout: float
    ) -> None:
        self.commits.append(offsets)
        if self.failures:
            raise self.failures.pop(0)


class Query:
    """Commits offsets at times that the test sets."""

    def __init__(self, group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ottla, "Admin", group.admin)
        self.now = 1000.0
        self.progress = GroupOffsetCommitter("g", lambda: self.now)

    def publish(self, after: float, **offsets: int) -> None:
        self.now += after
        named = {"a": A, "b": B, "c": C}
        commits = {named[name]: offset for name, offset in offsets.items()}
        self.progress.commit(FakeClient({}), commits, {A, B})


def refused() -> FencedError:
    return FencedError("the group has members")


def test_a_failed_commit_is_a_warning_and_is_retried_after_the_backoff(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    group = Group(refused())
    query = Query(group, monkeypatch)
    query.publish(0, a=5, c=1)
    for offset in range(6, 900):
        query.publish(29.9 / 894, a=offset, b=1, c=1)
    assert group.commits == [{A: 5}]
    # Then the newest offsets, at once those that changed since, and none of deleted partitions.
    query.publish(0.2, a=900, b=1, c=1)
    query.publish(0.1, a=901, b=1, c=1)
    query.publish(0.1, a=901, b=1, c=1)
    assert group.commits[1:] == [{A: 900, B: 1}, {A: 901}]
    assert "offsets of group g were not committed" in caplog.text
    assert "the group has members" in caplog.text


def test_the_backoff_starts_when_the_attempt_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class SlowGroup(Group):
        def alter_group_offsets(
            self, group: str, offsets: dict[tuple[str, int], int], timeout: float
        ) -> None:
            query.now += 5
            super().alter_group_offsets(group, offsets, timeout)

    group = SlowGroup(errors.TimeoutError("no broker responds"))
    query = Query(group, monkeypatch)
    for after in (0, 0.1, 29.8):
        query.publish(after, a=5)
    assert len(group.commits) == 1
    query.publish(0.2, a=5)
    assert len(group.commits) == 2


def test_each_kind_of_failure_is_logged_once_until_a_commit_succeeds(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    away = errors.TimeoutError("no broker responds")
    group = Group(refused(), away, refused(), away)
    query = Query(group, monkeypatch)
    for _ in range(4):
        query.publish(31, a=5)
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2
    query.publish(31, a=5)
    assert len(group.commits) == 5
    group.failures.append(refused())
    query.publish(1, a=6)
    assert len(caplog.records) == 3
    assert caplog.messages[0] == caplog.messages[2]


def test_unchanged_offsets_are_committed_again_before_they_expire(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    group = Group()
    query = Query(group, monkeypatch)
    for after, offset in ((0, 5), (1800, 6), (1799, 6), (1, 7), (3599, 7), (1, 7)):
        query.publish(after, a=offset, b=1)
    assert group.commits == [{A: 5, B: 1}, {A: 6}, {A: 7, B: 1}, {A: 7, B: 1}]
    # If that fails, it is retried after the backoff, like any commit.
    group.failures.append(refused())
    for after in (3600, 1, 29):
        query.publish(after, a=7, b=1)
    assert group.commits[4:] == [{A: 7, B: 1}] * 2
    # A new process does not know what was committed.
    GroupOffsetCommitter("g", lambda: 0.0).commit(FakeClient({}), {A: 7}, {A})
    assert group.commits[6:] == [{A: 7}]
