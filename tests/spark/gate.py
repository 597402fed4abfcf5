"""The tests with a Spark session that are part of `make test`; all others are deep.

One for each way in which rows, options, offsets or errors pass between Spark and ottla, compared
with Spark's own connector where it can do the same. The parity matrices are in `make deep`.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

CASES = {
    "test_arrow_reading.py": [
        "test_read_arrow",
        "test_pushed_filters_change_what_is_read_but_not_the_rows[partition = 1-1]",
    ],
    "test_clients_in_tasks.py": ["test_a_plain_udf_has_one_client_a_worker"],
    "test_data_loss.py": ["test_retention_of_the_whole_range[ottla]"],
    "test_documentation_snippets.py": ["test_every_snippet_runs_as_printed"],
    "test_live_streams.py": ["test_a_live_stream"],
    "test_near_replica.py": ["test_a_task_reads_from_the_replica_in_its_rack[option]"],
    "test_option_parity.py": [
        "test_options[options8-190]",
        "test_options[options11-100]",
        "test_options[options18-300]",
        "test_options[options24-300]",
        "test_projection[columns1]",
        "test_errors[options16-words16]",
    ],
    "test_parity.py": [
        "test_written_by_ottla[zstd]",
        "test_written_by_spark[lz4]",
        "test_timestamps[LogAppendTime]",
        "test_retention_that_took_the_start",
    ],
    "test_reading.py": [
        "test_what_cannot_be_read_is_told_in_time[options0-UnknownTopicError-words0]",
    ],
    "test_secrets.py": ["test_secrets_appear_nowhere_that_spark_prints"],
    "test_stream_options.py": [
        "test_options[options1-1307-4]",
        "test_options[options8-7-1]",
        "test_errors[options0-words0]",
    ],
    "test_stream_replay.py": [
        "test_the_log_has_grown_and_a_partition_has_come[earliest-70-30]",
    ],
    "test_stream_sink.py": ["test_the_same_rows[options2-True]"],
    "test_streaming.py": [
        "test_restarts_new_partitions_and_new_topics",
        "test_a_checkpoint_of_sparks_source_goes_on",
        "test_bytes_a_trigger",
        "test_progress_shows_as_a_consumer_group",
    ],
    "test_writing.py": [
        "test_the_same_rows_as_sparks_sink",
        "test_topics_of_rows_and_text",
        "test_a_stream_written",
    ],
}


def mark_deep(items: Iterable[pytest.Item]) -> None:
    """Mark as deep what starts a session and is not a case of the gate.

    Raises:
        pytest.UsageError: a case names no test of a file that was collected as a whole.
    """
    found: dict[str, set[str]] = {}
    for item in items:
        if item.get_closest_marker("spark") is None:
            continue
        found.setdefault(item.path.name, set()).add(item.name)
        if item.name not in CASES.get(item.path.name, ()):
            item.add_marker("deep")
    # Whoever names single tests collects less than a file.
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
