"""Faults of producers and transactions."""

from __future__ import annotations

from tests.gate.mutations.mutation import Mutation

_PRODUCER = "rust/client/src/producer"

MUTATIONS = [
    Mutation(
        "not-leader-after-append-counts-as-rejected",
        "rust/client/src/error/proof.rs",
        "| E::FencedLeaderEpoch => !acks_all,",
        "| E::FencedLeaderEpoch => true || !acks_all,",
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
        (
            "Some(1) if state.producer_epoch <= LAST_EPOCH"
            " => Self::of_ended(&state.transaction_state),"
        ),
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
        f"{_PRODUCER}/inner.rs",
        "Notice::Refresh => self.request_refresh(RefreshNeed::Stale(snapshot.generation)),",
        "Notice::Refresh => {}",
    ),
    Mutation(
        "a-lack-of-replicas-is-an-error-without-brokers",
        f"{_PRODUCER}/refusal_message.rs",
        "ErrorCode::NotEnoughReplicas => Some(too_few_replicas(snapshot, partition)),",
        "ErrorCode::NotEnoughReplicas => None,",
    ),
]
