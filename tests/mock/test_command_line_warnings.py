"""Commands warn about skipped records on standard error."""

from __future__ import annotations

import pytest

from ottla.testing import MockCluster
from tests.support.command import ottla


@pytest.mark.parametrize("ends", [["-e"], ["-c", "2"]])
def test_deleted_records_are_skipped_with_a_warning(
    mock_cluster: MockCluster, single: str, ends: list[str]
) -> None:
    mock_cluster.append(single, 0, [b"%d" % i for i in range(5)])
    mock_cluster.delete_records(single, 0, 3)
    done = ottla("consume", mock_cluster.bootstrap, "-t", single, "-o", "1", *ends)
    assert (done.code, done.out) == (0, b"3\n4\n")
    assert done.err == (
        f"ottla: {single}-0: the records from offset 1 to 3 are gone and were skipped\n"
    )
