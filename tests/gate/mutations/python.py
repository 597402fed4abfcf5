"""Faults of the Python package, its tools, and its border with Rust."""

from __future__ import annotations

from tests.gate.mutations.mutation import Mutation

_CONSOLE = "python/ottla/console"
_CLI = "python/ottla/cli"
_EXACTLY_ONCE = "python/ottla/spark/writing/exactly_once"

MUTATIONS = [
    Mutation(
        "timeouts-are-reported-as-lost-connections",
        "rust/python/src/convert/errors.rs",
        'Kind::Timeout => "TimeoutError",',
        'Kind::Timeout => "ConnectionError",',
    ),
    Mutation(
        "spark-ranges-skip-an-offset",
        "python/ottla/_internal/planning/range_splitting.py",
        "        start = end\n",
        "        start = end + 1\n",
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
        "a-configuration-calls-any-function",
        "python/ottla/_internal/token_providers.py",
        "if not _is_allowed(module, function):",
        "if not module:",
    ),
    Mutation(
        "a-configuration-sends-any-file",
        "python/ottla/_internal/token_providers.py",
        "identity.needs_permission and name not in _allowed_names()",
        "identity.needs_permission and not name",
    ),
    Mutation(
        "a-str-is-a-list-of-names",
        "python/ottla/_internal/arguments.py",
        "    if is_text(value):",
        "    if is_text(value) and not value:",
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
        "true-is-the-number-one",
        "rust/python/src/convert/number.rs",
        "if value.is_instance_of::<PyBool>() {",
        "if value.is_instance_of::<PyBool>() && value.is_none() {",
    ),
    Mutation(
        "true-is-the-number-one-in-admin-calls",
        "python/ottla/_internal/arguments.py",
        "    if is_index(value):\n        # A class",
        '    if hasattr(value, "__index__"):\n        # A class',
    ),
    Mutation(
        "a-text-in-place-of-a-mapping-is-asked-for-its-items",
        "rust/python/src/convert/mapping.rs",
        'if !argument.hasattr("items")? || !argument.hasattr("keys")? {',
        "if argument.is_none() {",
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
]
