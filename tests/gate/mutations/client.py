"""Faults of connections, metadata and what all clients share."""

from __future__ import annotations

from tests.gate.mutations.mutation import Mutation

_CONNECTION = "rust/client/src/connection"

MUTATIONS = [
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
        "            sleep_until(until).await;\n            awaiting.end();",
        "            sleep_until(until.min(Instant::now())).await;\n            awaiting.end();",
    ),
    Mutation(
        "overtaken-batches-count-as-written",
        "rust/client/src/producer/idempotence.rs",
        "none if none.is_empty() => first..end,",
        "none if none.is_empty() => 0..end,",
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
        '"bootstrap.servers" | "bootstrap.controllers" => text.contains(\'@\')',
        '"bootstrap.servers" | "bootstrap.controllers" => text.contains("@@")',
    ),
    Mutation(
        "commits-of-deleted-topics-are-repeated",
        "rust/client/src/group_offsets/unknown_topics.rs",
        "Some(error) => settled.failed.push((partition, error)),",
        "Some(error) => settled.passing = Some(error),",
    ),
    Mutation(
        "one-unexpected-error-fails-a-poll",
        "rust/client/src/error/recovery.rs",
        "E::UnknownServerError => Recovery::Passing,",
        "E::UnknownServerError => Recovery::Application,",
    ),
    Mutation(
        "times-before-1970-are-names-of-offsets",
        "rust/client/src/requests/list_offsets.rs",
        "millis.max(0)",
        "millis.max(-5)",
    ),
    Mutation(
        "a-condition-that-comes-and-goes-is-reported-each-time",
        "rust/client/src/retry/warning_pace.rs",
        "if now < self.next {",
        "if false && now < self.next {",
    ),
]
