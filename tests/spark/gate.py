"""The tests with a Spark session that are part of `make test`; all others are deep.

One for each way in which rows, options, offsets or errors pass between Spark and ottla, compared
with Spark's own connector where it has the feature. The parity matrices are in `make deep`.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

CASES = {
    "test_read_arrow.py": [
        "test_read_arrow",
        "test_pushed_filters_read_less_and_return_the_same_rows[partition = 1-1]",
    ],
    "test_clients_in_tasks.py": ["test_a_plain_udf_has_one_client_per_worker"],
    "test_data_loss.py": ["test_retention_of_the_whole_range[ottla]"],
    "test_documentation_snippets.py": ["test_every_snippet_runs_as_printed"],
    "test_live_streams.py": ["test_a_live_stream"],
    "test_exactly_once.py": ["test_batches", "test_a_stream_with_restarts"],
    "test_rack_awareness.py": ["test_a_task_reads_from_the_replica_in_its_rack[option]"],
    "test_option_parity.py": [
        "test_options[options8-190]",
        "test_options[options11-100]",
        "test_options[options18-300]",
        "test_options[options24-300]",
        "test_projection[columns1]",
        "test_errors[options16-fragments16]",
    ],
    "test_parity.py": [
        "test_written_by_ottla[zstd]",
        "test_written_by_spark[lz4]",
        "test_timestamps[LogAppendTime]",
        "test_retention_of_the_start",
    ],
    "test_reading.py": [
        "test_read_errors_are_reported_in_time[options0-UnknownTopicError-fragments0]",
    ],
    "test_secrets.py": ["test_secrets_appear_nowhere_in_sparks_output"],
    "test_stream_options.py": [
        "test_options[options1-1307-4]",
        "test_options[options8-7-1]",
        "test_errors[options0-fragments0]",
    ],
    "test_stream_replay.py": [
        "test_replay_after_the_log_grew_and_a_partition_was_added[earliest-70-30]",
    ],
    "test_stream_writing.py": ["test_the_same_rows[options2-True]"],
    "test_streaming.py": [
        "test_restarts_new_partitions_and_new_topics",
        "test_a_checkpoint_of_sparks_source_continues",
        "test_max_bytes_per_trigger",
        "test_progress_is_committed_to_a_consumer_group",
    ],
    "test_typed_columns.py": [
        "test_values_become_a_struct",
        "test_the_users_schema_projects_inside_the_decoder",
        "test_a_query_reads_with_the_schema_that_was_latest_when_it_was_made",
        "test_records_that_cannot_be_decoded",
        "test_dead_letters",
        "test_filters_on_decoded_fields_apply_in_the_task[value.id >= 7-ids0]",
        "test_keys_and_values_and_read_arrow",
        "test_a_write_encodes_columns",
        "test_a_stream_has_typed_columns",
    ],
    "test_writing.py": [
        "test_the_same_rows_as_sparks_sink",
        "test_topics_of_rows_and_text",
        "test_a_stream_written",
    ],
}


def mark_deep(items: Iterable[pytest.Item]) -> None:
    """Mark as deep all tests that need a session and are not cases of the gate.

    Raises:
        pytest.UsageError: a case names a test that its file does not have.
    """
    found: dict[str, set[str]] = {}
    for item in items:
        if item.get_closest_marker("spark") is None:
            continue
        found.setdefault(item.path.name, set()).add(item.name)
        if item.name not in CASES.get(item.path.name, ()):
            item.add_marker("deep")
    # If single tests are selected, some files are not collected in full.
    if set(CASES) <= set(found):
        unknown = [
            f"{file}::{name}"
            for file, names in CASES.items()
            for name in names
            if name not in found[file]
        ]
        if unknown:
            raise pytest.UsageError(
                f"tests/spark/gate.py names tests that are not there: {unknown}"
            )
