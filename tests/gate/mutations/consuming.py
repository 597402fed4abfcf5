"""Faults of consumers and groups."""

from __future__ import annotations

from tests.gate.mutations.mutation import Mutation

_CONSUMER = "rust/client/src/consumer"

MUTATIONS = [
    Mutation(
        "commits-are-one-too-far",
        f"{_CONSUMER}/commit/mod.rs",
        "            offset: state.position.offset,\n",
        "            offset: state.position.offset + 1,\n",
    ),
    Mutation(
        "commits-of-revoked-partitions-are-sent",
        f"{_CONSUMER}/commit/ownership.rs",
        "(Some(version), Some(state)) => *version != state.assigned_version,",
        "(Some(version), Some(state)) => *version != state.assigned_version && "
        "*version == u64::MAX,",
    ),
    Mutation(
        "fetch-sessions-are-not-reset",
        f"{_CONSUMER}/fetch/fetch_session.rs",
        "        self.epoch = INITIAL;\n",
        "        self.epoch = INITIAL.max(self.epoch);\n",
    ),
    Mutation(
        "polls-of-records-ignore-bytes",
        f"{_CONSUMER}/read/read_limit.rs",
        "self.records == 0 || self.bytes == 0",
        "self.records == 0",
    ),
    Mutation(
        "columns-have-no-target",
        f"{_CONSUMER}/read/arrow_decoding.rs",
        "target_bytes: self.target_bytes.clamp(1, Self::MAX_TARGET_BYTES),",
        "target_bytes: Self::MAX_TARGET_BYTES,",
    ),
    Mutation(
        "share-polls-decode-the-whole-fetch",
        f"{_CONSUMER}/share/read_arrow.rs",
        "let (max_rows, target_bytes) = (layout.max_rows, layout.target_bytes);",
        "let (max_rows, target_bytes) = (usize::MAX, 1 << 30);",
    ),
    Mutation(
        "rows-beyond-the-budget-are-lost",
        f"{_CONSUMER}/scan/arrow_scan.rs",
        "self.undecoded = rest;",
        "self.undecoded = rest.filter(|_| false);",
    ),
    Mutation(
        "deleted-topics-are-created-again",
        f"{_CONSUMER}/group/driver.rs",
        "topics.iter().cloned().partition(|topic| named.contains(topic))",
        "topics.iter().cloned().partition(|topic| named.is_empty() || named.contains(topic))",
    ),
    Mutation(
        "a-static-member-does-not-release-its-id",
        f"{_CONSUMER}/group/consumer_protocol/failures.rs",
        "code == ErrorCode::UnreleasedInstanceId && self.release_instance(now)",
        "code == ErrorCode::UnreleasedInstanceId && false",
    ),
    Mutation(
        "a-missing-schema-is-never-asked-for-again",
        f"{_CONSUMER}/read/record_buffer.rs",
        "set.typed.take_if(",
        "let _ = set.typed.as_ref().filter(",
    ),
    Mutation(
        "closing-accepts-what-was-not-processed",
        f"{_CONSUMER}/share/close.rs",
        "state.begin_flush(Instant::now());",
        "state.begin_commit(Instant::now());",
    ),
    Mutation(
        "a-wait-for-partitions-is-reported-after-more-than-two-seconds",
        f"{_CONSUMER}/group/release_watch.rs",
        "const DESCRIBED_AFTER: Duration = Duration::from_millis(1_500);",
        "const DESCRIBED_AFTER: Duration = Duration::from_millis(2_500);",
    ),
    Mutation(
        "a-member-without-a-target-is-reported",
        f"{_CONSUMER}/group/unreleased_partitions.rs",
        "target.difference(&current).copied().collect();",
        "target.union(&partitions(&group.members[0].assignment)).copied().collect();",
    ),
    Mutation(
        "a-member-that-gives-partitions-up-slowly-is-not-named",
        f"{_CONSUMER}/group/unreleased_partitions.rs",
        "others().filter(|member| member.member_epoch < group.group_epoch)",
        "others().filter(|member| member.member_epoch < 0)",
    ),
    Mutation(
        "the-end-of-a-wait-for-partitions-is-not-reported",
        f"{_CONSUMER}/group/release_watch.rs",
        "was_waiting.then(|| WatchStep::Over(now.saturating_duration_since(self.since)))",
        "(was_waiting && now < self.since).then_some(WatchStep::Unknown)",
    ),
]
