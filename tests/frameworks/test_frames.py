"""Ray Data and dask, each in their own processes, on a real broker."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.conftest import Broker
from tests.support.frameworks import Framework
from tests.support.snippets import Snippet, snippets

FRAMEWORK = "frames"
PROGRAMS = Path(__file__).with_name("frames")
pytestmark = [pytest.mark.deep, pytest.mark.cluster]

COUNT = 200
GUIDE = [snippet for snippet in snippets("python") if snippet.of_frames]


@pytest.fixture
def topics(broker: Broker) -> Broker:
    """The topics that the programs use."""
    broker.create("orders", "copied", "empty")
    broker.create("bad", partitions=1)
    broker.produce("orders", [(b"%d" % i, b"order %d" % i) for i in range(COUNT)])
    broker.produce("bad", [(None, b"gone")] * 5)
    return broker


def run(framework: Framework, broker: Broker, program: str) -> dict[str, Any]:
    """Return what a program prints in its last line."""
    output = framework.run(
        "program", "confluent_kafka", program, env=broker.env, directory=PROGRAMS, timeout=300
    )
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def test_ray_reads_each_record_once_and_writes_it(topics: Broker, framework: Framework) -> None:
    found = run(framework, topics, "ray_copy.py")
    assert (found["tasks"], found["rows"], found["empty"]) == (6, COUNT, 0)
    copied = [(record.key, record.value) for record in topics.records("copied")]
    assert sorted(copied) == sorted((b"%d" % i, b"order %d" % i) for i in range(COUNT))
    deleted, without_value, *refused = found["failures"]
    # Ray splits the range into smaller ones.
    assert re.search(r"the records from offset 0 to \d are gone", deleted)
    assert 'there is no column "value"' in without_value
    transactional, unacknowledged, *other_names = refused
    assert "tasks run at the same time and would fence each other" in transactional
    assert "acks=0: a task could not know" in unacknowledged
    assert other_names == [transactional, unacknowledged]


def test_dask_reads_a_range_for_each_of_its_partitions(
    topics: Broker, framework: Framework
) -> None:
    first = sorted(record.offset for record in topics.records("orders") if record.partition == 0)
    found = run(framework, topics, "dask_sum.py")
    assert found["partitions"] >= COUNT // 30
    assert found["types"][4] == "int64[pyarrow]"
    assert found["threads"] == found["processes"] == first
    assert found["empty"] == 0
    assert "the records from offset 0 to 3 are gone" in found["failure"]


@pytest.mark.parametrize("snippet", GUIDE, ids=lambda snippet: snippet.id)
def test_the_guide_runs_as_printed(
    snippet: Snippet, topics: Broker, framework: Framework, tmp_path: Path
) -> None:
    (tmp_path / "snippet.py").write_text(snippet.text_for(topics.bootstrap, tmp_path))
    output = framework.run(
        "program", "confluent_kafka", "snippet.py", directory=tmp_path, timeout=300
    )
    if "ottla.ray" in snippet.text:
        assert re.search(f"^{COUNT}$", output, re.MULTILINE)
        assert topics.count("copied") == COUNT
    else:
        counts = re.findall(r"\d: (\d+)", output)
        assert sum(int(count) for count in counts) == COUNT


def test_the_guide_has_a_snippet_of_each() -> None:
    assert len(GUIDE) == 2
