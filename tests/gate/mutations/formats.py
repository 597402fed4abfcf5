"""Faults of records, columns and schemas."""

from __future__ import annotations

from tests.gate.mutations.mutation import Mutation

_SCHEMA = "rust/schema/src"

MUTATIONS = [
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
        "limits-of-schemas-are-not-settings",
        f"{_SCHEMA}/column_decoder.rs",
        "let limits = options.limits.bounded();",
        "let limits = SchemaLimits::default().bounded();",
    ),
    Mutation(
        "midnight-is-a-time-of-the-day-before",
        f"{_SCHEMA}/source/conversion.rs",
        "(0..24 * 60 * 60 * per_second(unit)).contains(&value)",
        "(0..=24 * 60 * 60 * per_second(unit)).contains(&value)",
    ),
    Mutation(
        "an-alias-wins-over-the-name",
        f"{_SCHEMA}/avro/aliases.rs",
        ".filter(|_| !is_own)",
        ".filter(|_| !is_own || is_own)",
    ),
]
