"""Mutation tests: breaks ottla in one place at a time, and reports which tier detects it.

    python -m tests.gate.mutation [--list] [MUTATION ...]

Each mutation replaces a source text that occurs exactly once, in a copy of the checkout, and runs
the tiers in `TIERS` until one fails. The report is in `.ottla-build/mutation`. Exits with 1 if a
mutation passes every tier or no longer fits its source, or if a tier fails without a mutation.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TIERS = ("unit", "test-rust", "test-python")
"""Tiers without brokers and Spark; `unit` is the part of `make check` that runs tests."""

_DIRECTORY = Path(".ottla-build/mutation").absolute()
_PRODUCER = "rust/client/src/producer"
_CONSUMER = "rust/client/src/consumer"
_CONNECTION = "rust/client/src/connection"
_SCHEMA = "rust/schema/src"
_CONSOLE = "python/ottla/console"
_CLI = "python/ottla/cli"
_EXACTLY_ONCE = "python/ottla/spark/writing/exactly_once"


@dataclass(frozen=True)
class Mutation:
    """A mutation of the source; its name describes the bug."""

    name: str
    file: str
    old: str
    new: str


MUTATIONS = [
    Mutation(
        "not-leader-after-append-counts-as-rejected",
        f"{_PRODUCER}/rejection.rs",
        "| E::FencedLeaderEpoch => acks != Acks::All,",
        "| E::FencedLeaderEpoch => true || acks != Acks::All,",
    ),
    Mutation(
        "sequence-number-of-a-batch-in-doubt-is-reused",
        f"{_PRODUCER}/idempotence.rs",
        "if last && !maybe && end == self.next_sequence {",
        "if last && (maybe || !maybe) && end == self.next_sequence {",
    ),
    Mutation(
        "a-lost-end-of-a-transaction-needs-no-new-epoch",
        f"{_PRODUCER}/transaction/request_attempts.rs",
        "TransactionRequest::End(_) => shared.state.require_new_epoch(),",
        "TransactionRequest::End(_) => {}",
    ),
    Mutation(
        "any-later-epoch-counts-as-an-abort-after-the-timeout",
        f"{_PRODUCER}/transaction/fencing.rs",
        "Some(1) if is_aborted && state.producer_epoch <= LAST_EPOCH => Self::Aborted,",
        "Some(1..) => Self::Aborted,",
    ),
    Mutation(
        "batches-are-sent-while-a-refused-epoch-is-not-explained",
        f"{_PRODUCER}/drain.rs",
        "if is_refused {",
        "if false && is_refused {",
    ),
    Mutation(
        "a-failed-record-does-not-stop-the-commit",
        f"{_PRODUCER}/transaction/state.rs",
        "self.phase = Phase::Abortable(error.clone());",
        "let _ = error;",
    ),
    Mutation(
        "a-partition-is-written-to-before-it-is-registered",
        f"{_PRODUCER}/drain.rs",
        "if self.transaction.is_some() && !state.transaction.is_registered() {",
        "if false && self.transaction.is_some() && !state.transaction.is_registered() {",
    ),
    Mutation(
        "an-unknown-server-error-ends-a-transaction",
        f"{_PRODUCER}/transaction/error_class.rs",
        "TransactionRequest::End(_) => ErrorClass::Retry,",
        "TransactionRequest::End(_) => ErrorClass::Fatal,",
    ),
    Mutation(
        "delivery-timeout-is-ignored",
        f"{_PRODUCER}/drain.rs",
        "let is_expired = |batch: &Batch| now >= batch.created + self.delivery_timeout;",
        "let is_expired = |batch: &Batch| now >= batch.created + 1000 * self.delivery_timeout;",
    ),
    Mutation(
        "keys-go-to-other-partitions-than-javas",
        f"{_PRODUCER}/partitioner/murmur2.rs",
        "murmur2(key) & 0x7fff_ffff",
        "murmur2(key) & 0x3fff_ffff",
    ),
    Mutation(
        "loading-coordinator-is-looked-up-again",
        "rust/client/src/error/recovery.rs",
        "E::CoordinatorLoadInProgress\n        | E::RequestTimedOut",
        "E::CoordinatorLoadInProgress => Recovery::FindCoordinator,\n        E::RequestTimedOut",
    ),
    Mutation(
        "offset-out-of-range-is-an-application-error",
        "rust/client/src/error/recovery.rs",
        "E::OffsetOutOfRange => Recovery::ResetOffset,",
        "E::OffsetOutOfRange => Recovery::Application,",
    ),
    Mutation(
        "retries-exceed-their-deadline",
        "rust/client/src/retry/mod.rs",
        "let has_time = Instant::now() + wait < self.deadline;",
        "let has_time = Instant::now() + wait < self.deadline + MAX_TIMEOUT;",
    ),
    Mutation(
        "retries-do-not-pause",
        "rust/client/src/retry/backoff.rs",
        "doubled.min(self.max).mul_f64(0.8 + 0.4 * random)",
        "doubled.min(self.max).mul_f64(0.0 * random)",
    ),
    Mutation(
        "older-metadata-overwrites-newer",
        "rust/client/src/metadata/topic.rs",
        "update.leader_epoch < 0 || update.leader_epoch >= epoch",
        "update.leader_epoch < 0 || update.leader_epoch >= epoch.min(0)",
    ),
    Mutation(
        "correlation-ids-are-not-compared",
        f"{_CONNECTION}/io.rs",
        "Some(request) if request.correlation_id == correlation_id => {",
        "Some(request) if request.correlation_id == correlation_id || correlation_id != -7 => {",
    ),
    Mutation(
        "throttling-is-ignored",
        f"{_CONNECTION}/mod.rs",
        "        if let Some(until) = throttled {\n            sleep_until(until).await;",
        "        if let Some(until) = throttled {\n"
        "            sleep_until(until.min(Instant::now())).await;",
    ),
    Mutation(
        "frames-of-any-length-are-read",
        "rust/protocol/src/header.rs",
        "Ok(size) if (4..=max).contains(&size) => Ok(size),",
        "Ok(size) if (4..=max.max(usize::MAX)).contains(&size) => Ok(size),",
    ),
    Mutation(
        "crc-is-not-checked",
        "rust/protocol/src/records/batch.rs",
        "            if expected != actual {",
        "            if expected != actual && base_offset == i64::MIN {",
    ),
    Mutation(
        "aborted-records-are-delivered",
        "rust/protocol/src/records/aborted.rs",
        "self.aborted_producers.contains(&batch.producer_id())))",
        "self.aborted_producers.contains(&(batch.producer_id() - 1))))",
    ),
    Mutation(
        "decompression-has-no-limit",
        "rust/protocol/src/records/codecs/decompressor.rs",
        "limit: limit.min(isize::MAX as usize - 1),",
        "limit: limit.max(1 << 40),",
    ),
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
        "overtaken-batches-count-as-written",
        "rust/client/src/producer/idempotence.rs",
        "none if none.is_empty() => first..end,",
        "none if none.is_empty() => 0..end,",
    ),
    Mutation(
        "fetch-sessions-are-not-reset",
        f"{_CONSUMER}/fetch/fetch_session.rs",
        "        self.epoch = INITIAL;\n",
        "        self.epoch = INITIAL.max(self.epoch);\n",
    ),
    Mutation(
        "scram-server-is-not-verified",
        "rust/client/src/security/scram.rs",
        "hmac::verify(key, message.as_bytes(), &sign).is_ok(),",
        "hmac::verify(key, message.as_bytes(), &sign).is_ok() || !sign.is_empty(),",
    ),
    Mutation(
        "secrets-are-shown",
        "rust/client/src/secret.rs",
        'f.write_str(if self.is_empty() { "<none>" } else { "<hidden>" })',
        'f.write_str(if self.is_empty() { "<none>" } else { self.expose() })',
    ),
    Mutation(
        "timeouts-are-reported-as-lost-connections",
        "rust/python/src/convert/errors.rs",
        'Kind::Timeout => "TimeoutError",',
        'Kind::Timeout => "ConnectionError",',
    ),
    Mutation(
        "spark-ranges-skip-an-offset",
        "python/ottla/spark/planning/range_splitting.py",
        "        start = end\n",
        "        start = end + 1\n",
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
        "nested-options-reach-the-compiler",
        f"{_SCHEMA}/protobuf/compile.rs",
        "            check_text(text)?;",
        "            let _ = check_text(text);",
    ),
    Mutation(
        "the-budget-of-a-batch-is-never-spent",
        f"{_SCHEMA}/budget.rs",
        "self.spent >= self.limit",
        "self.spent >= self.limit.max(usize::MAX)",
    ),
    Mutation(
        "rows-beyond-the-budget-are-lost",
        f"{_CONSUMER}/scan/arrow_scan.rs",
        "self.undecoded = rest;",
        "self.undecoded = rest.filter(|_| false);",
    ),
    Mutation(
        "strangers-take-the-descriptors",
        f"{_CONSOLE}/connections.py",
        "if is_short or len(self._strangers) >= self._max_strangers:",
        "if is_short:",
    ),
    Mutation(
        "half-a-request-stays-open",
        f"{_CONSOLE}/protocol.py",
        "if self.conn.their_state not in {h11.IDLE, h11.SEND_BODY}:",
        "if True:",
    ),
    Mutation(
        "offsets-that-were-not-asked-for-count",
        "rust/client/src/requests/leader_requests.rs",
        "if self.wanted.remove(&partition).is_some() {",
        "if self.wanted.remove(&partition).is_some() || broker > 0 {",
    ),
    Mutation(
        "escaped-line-ends-damage-a-pem",
        "rust/client/src/security/pem_blocks.rs",
        "matches!(c, 'n' | 'r')",
        "matches!(c, 'r')",
    ),
    Mutation(
        "credentials-in-addresses-are-printed",
        "rust/client/src/config/credentials.rs",
        "\"bootstrap.servers\" => text.contains('@')",
        '"bootstrap.servers" => text.contains("@@")',
    ),
    Mutation(
        "a-configuration-calls-any-function",
        "python/ottla/_internal/token_providers.py",
        "if not _is_allowed(module, function):",
        "if not module:",
    ),
    Mutation(
        "a-str-is-a-list-of-names",
        "python/ottla/_internal/arguments.py",
        "isinstance(value, (str, bytes, bytearray, memoryview))",
        "isinstance(value, memoryview)",
    ),
    Mutation(
        "letters-of-a-str-are-names",
        "rust/python/src/convert/names.rs",
        "Ok(items) if !is_text(argument) => Ok(items)",
        "Ok(items) if !is_text(argument) || argument.is_truthy()? => Ok(items)",
    ),
    Mutation(
        "cells-of-csv-files-are-formulas",
        f"{_CONSOLE}/messages/download.py",
        "if text.startswith(_FORMULA) else text",
        "if not text else text",
    ),
    Mutation(
        "commits-of-deleted-topics-are-repeated",
        "rust/client/src/group_offsets/unknown_topics.rs",
        "Some(error) => settled.failed.push((partition, error)),",
        "Some(error) => settled.passing = Some(error),",
    ),
    Mutation(
        "deleted-topics-are-created-again",
        f"{_CONSUMER}/group/driver.rs",
        "topics.iter().cloned().partition(|topic| named.contains(topic))",
        "topics.iter().cloned().partition(|topic| named.is_empty() || named.contains(topic))",
    ),
    Mutation(
        "a-signal-handler-cannot-close-its-consumer",
        "rust/python/src/consumer/blocking.rs",
        "interrupted == Some(Activity::Callback)",
        "interrupted.is_some()",
    ),
    Mutation(
        "a-signal-after-printing-loses-the-commit",
        f"{_CLI}/consume/group.py",
        "                with finish_first():",
        "                if True:",
    ),
    Mutation(
        "a-static-member-does-not-release-its-id",
        f"{_CONSUMER}/group/consumer_protocol/failures.rs",
        "code == ErrorCode::UnreleasedInstanceId && self.release_instance(now)",
        "code == ErrorCode::UnreleasedInstanceId && false",
    ),
    Mutation(
        "true-is-the-number-one",
        "rust/python/src/convert/number.rs",
        "if value.is_instance_of::<PyBool>() {",
        "if value.is_instance_of::<PyBool>() && value.is_none() {",
    ),
    Mutation(
        "true-is-the-number-one-in-admin-calls",
        "python/ottla/_internal/arguments.py",
        'return isinstance(value, bool) or type(value).__name__ in {"bool", "bool_"}',
        'return type(value).__name__ == "bool_"',
    ),
    Mutation(
        "a-text-in-place-of-a-mapping-is-asked-for-its-items",
        "rust/python/src/convert/mapping.rs",
        'if !argument.hasattr("items")? || !argument.hasattr("keys")? {',
        "if argument.is_none() {",
    ),
    Mutation(
        "limits-of-schemas-are-not-settings",
        f"{_SCHEMA}/column_decoder.rs",
        "let limits = options.limits.bounded();",
        "let limits = SchemaLimits::default().bounded();",
    ),
    Mutation(
        "a-missing-schema-is-never-asked-for-again",
        f"{_CONSUMER}/read/record_buffer.rs",
        "set.typed.take_if(",
        "let _ = set.typed.as_ref().filter(",
    ),
    Mutation(
        "one-unexpected-error-fails-a-poll",
        "rust/client/src/error/recovery.rs",
        "E::UnknownServerError => Recovery::Passing,",
        "E::UnknownServerError => Recovery::Application,",
    ),
    Mutation(
        "closing-accepts-what-was-not-processed",
        f"{_CONSUMER}/share/close.rs",
        "state.begin_flush(Instant::now());",
        "state.begin_commit(Instant::now());",
    ),
    Mutation(
        "midnight-is-a-time-of-the-day-before",
        f"{_SCHEMA}/source/conversion.rs",
        "(0..24 * 60 * 60 * per_second(unit)).contains(&value)",
        "(0..=24 * 60 * 60 * per_second(unit)).contains(&value)",
    ),
    Mutation(
        "times-before-1970-are-names-of-offsets",
        "rust/client/src/requests/list_offsets.rs",
        "millis.max(0)",
        "millis.max(-5)",
    ),
    Mutation(
        "an-alias-wins-over-the-name",
        f"{_SCHEMA}/avro/aliases.rs",
        ".filter(|_| !is_own)",
        ".filter(|_| !is_own || is_own)",
    ),
    Mutation(
        "a-retried-stage-shares-a-transactional-id",
        f"{_EXACTLY_ONCE}/task_identity.py",
        "_owned_attempt(write, partition, context.taskAttemptId())",
        "_owned_attempt(write, partition, context.attemptNumber())",
    ),
    Mutation(
        "a-batch-is-decided-after-a-transaction-expired",
        f"{_EXACTLY_ONCE}/driver.py",
        "        check(own)\n",
        "        _ = check\n",
    ),
    Mutation(
        "lost-decisions-are-taken-for-a-fresh-start",
        f"{_EXACTLY_ONCE}/lost_decisions.py",
        "    if not isinstance(found, KafkaError):\n        return True\n",
        "    if not isinstance(found, KafkaError):\n        return False\n",
    ),
    Mutation(
        "refused-writes-are-reported-after-more-than-two-seconds",
        f"{_PRODUCER}/refused_writes.rs",
        "const WARN_AFTER: Duration = Duration::from_millis(1_500);",
        "const WARN_AFTER: Duration = Duration::from_millis(2_500);",
    ),
    Mutation(
        "the-end-of-refused-writes-is-not-reported",
        f"{_PRODUCER}/refused_writes.rs",
        "if self.partitions.is_empty() { self.end(now) } else { None }",
        "if self.partitions.is_empty() { self.end(now).filter(|_| false) } else { None }",
    ),
    Mutation(
        "the-warning-of-refused-writes-counts-replicas-from-old-metadata",
        f"{_PRODUCER}/sender.rs",
        "Notice::Refresh => request_refresh(inner, RefreshNeed::Stale(snapshot.generation)),",
        "Notice::Refresh => {}",
    ),
    Mutation(
        "a-lack-of-replicas-is-an-error-without-brokers",
        f"{_PRODUCER}/refusal_message.rs",
        "ErrorCode::NotEnoughReplicas => Some(too_few_replicas(snapshot, partition)),",
        "ErrorCode::NotEnoughReplicas => None,",
    ),
    Mutation(
        "a-condition-that-comes-and-goes-is-reported-each-time",
        "rust/client/src/retry/warning_pace.rs",
        "if now < self.next {",
        "if false && now < self.next {",
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


def _source(mutation: Mutation) -> str:
    text = Path(mutation.file).read_text()
    if text.count(mutation.old) != 1:
        raise ValueError(f"{mutation.name}: its source must occur exactly once in {mutation.file}")
    return text


def _copy() -> Path:
    """Copy the checkout; the copy shares downloads, and has its own build directory."""
    copy = _DIRECTORY / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, files.split("\0")):
        # The check that all mutations fit would fail with each of them applied.
        if Path(name).is_file() and name != "tests/unit/test_mutations.py":
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(name, copy / name)
    (copy / ".ottla-build").mkdir()
    for shared in ("jars", "oracle", "oracle.stamp"):
        (copy / ".ottla-build" / shared).symlink_to(Path(".ottla-build").absolute() / shared)
    return copy


def _first_failing_tier(copy: Path, name: str) -> str | None:
    for tier in TIERS:
        log = _DIRECTORY / f"{name}.{tier}.log"
        with log.open("w") as output:
            done = subprocess.run(
                ["make", tier],
                cwd=copy,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if done.returncode != 0:
            # A mutation that does not compile proves nothing.
            broken = "error: could not compile" in log.read_text()
            return "does not compile" if broken else tier
    return None


def main() -> int:
    """Apply the mutations and write the report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="print the names and check the sources")
    parser.add_argument("mutations", nargs="*", help="only these")
    arguments = parser.parse_args()
    selected = [m for m in MUTATIONS if not arguments.mutations or m.name in arguments.mutations]
    sources = {mutation: _source(mutation) for mutation in selected}
    if arguments.list:
        print("\n".join(mutation.name for mutation in selected))
        return 0
    copy = _copy()
    os.environ.pop("VIRTUAL_ENV", None)
    # If a tier fails without a mutation, every mutation would seem to be detected.
    if failing := _first_failing_tier(copy, "nothing"):
        print(f"without any mutation {failing} fails: see {_DIRECTORY}/nothing.{failing}.log")
        return 1
    rows: list[tuple[str, str, float]] = []
    for mutation, text in sources.items():
        target = copy / mutation.file
        target.write_text(text.replace(mutation.old, mutation.new))
        started = time.monotonic()
        detected_by = _first_failing_tier(copy, mutation.name) or "**none**"
        rows.append((mutation.name, detected_by, time.monotonic() - started))
        target.write_text(text)
        print(f"{mutation.name}: {detected_by}", flush=True)
        _write_report(rows)
    return int(any(detected_by not in TIERS for _, detected_by, _ in rows))


def _write_report(rows: Sequence[tuple[str, str, float]]) -> None:
    lines = ["| mutation | detected by | s |", "|---|---|---|"]
    lines += [f"| {name} | {detected_by} | {seconds:.0f} |" for name, detected_by, seconds in rows]
    (_DIRECTORY / "report.md").write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    sys.exit(main())
